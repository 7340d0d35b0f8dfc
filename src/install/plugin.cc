#include "install/plugin.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace lockkeeper::install {
namespace {

constexpr std::string_view kFirstLine =
    "// Written by `lockkeeper install opencode`. Do not edit: the next install replaces it.\n";
constexpr std::string_view kProgramLine = "const program = ";

// Before a tool runs, anything but a clean answer refuses it. At every other moment nothing that
// goes wrong here may disturb the session.
constexpr std::string_view kRest = R"~(import { spawn } from "node:child_process"

const LIMIT_MS = 20000
const OUTPUT_BYTES_MAX = 1 << 20

const failed = (status) => `the lockkeeper hook ended with ${status}. Run: lockkeeper doctor`

const ask = (event) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, ["hook", "opencode"], { stdio: ["pipe", "pipe", "pipe"] })
    let out = ""
    let err = ""
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error(`lockkeeper did not answer within ${LIMIT_MS / 1000} s`))
    }, LIMIT_MS)
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`lockkeeper cannot be started: ${error.message}`))
    })
    child.stdout.on("data", (bytes) => {
      if (out.length < OUTPUT_BYTES_MAX) out += bytes
    })
    child.stderr.on("data", (bytes) => {
      if (err.length < OUTPUT_BYTES_MAX) err += bytes
    })
    child.on("close", (status) => {
      clearTimeout(timer)
      if (status !== 0) return reject(new Error(err.trim() || failed(status)))
      try {
        resolve(JSON.parse(out))
      } catch {
        reject(new Error("lockkeeper gave an answer that is not JSON"))
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })

export const LockkeeperPlugin = async ({ client, directory, worktree }) => {
  const parents = new Map()
  const parentOf = async (sessionID) => {
    if (!parents.has(sessionID)) {
      try {
        const answer = await client.session.get({ path: { id: sessionID } })
        parents.set(sessionID, answer?.data?.parentID ?? "")
      } catch {
        return ""
      }
    }
    return parents.get(sessionID)
  }
  const event = async (name, sessionID, more) => {
    const parentID = await parentOf(sessionID)
    const whose = parentID ? { sessionID, parentID } : { sessionID }
    return { hook_event_name: name, ...whose, directory, worktree, ...more }
  }
  const tell = async (name, sessionID, more = {}) => {
    try {
      return (await ask(await event(name, sessionID, more))) ?? {}
    } catch {
      return {}
    }
  }
  const calls = new Map()

  return {
    "chat.message": async (input, output) => {
      const answer = await tell("chat.message", input.sessionID)
      const first = output?.parts?.[0]
      if (!answer.tell || !first) return
      const id = `prt_${Date.now()}`
      output.parts.push({ ...first, id, type: "text", text: answer.tell, synthetic: true })
    },
    "shell.env": async (input, output) => {
      // So that `lockkeeper` in a shell of this session acts for the same agent.
      if (output?.env && input.sessionID) output.env.OPENCODE_SESSION_ID ??= input.sessionID
    },
    "tool.execute.before": async (input, output) => {
      const call = { tool: input.tool, callID: input.callID, args: output.args }
      const answer = await ask(await event("tool.execute.before", input.sessionID, call))
      if (answer?.verdict !== "pass") {
        throw new Error(answer?.reason || "lockkeeper refused this call")
      }
      if (answer.args) Object.assign(output.args, answer.args)
      calls.set(input.callID, { ...call, sessionID: input.sessionID })
    },
    "tool.execute.after": async (input, output) => {
      const call = calls.get(input.callID) ?? { tool: input.tool, callID: input.callID, args: {} }
      calls.delete(input.callID)
      const answer = await tell("tool.execute.after", input.sessionID, {
        tool: call.tool,
        callID: call.callID,
        args: call.args,
      })
      if (!answer.tell) return
      if (typeof output?.output === "string") {
        output.output += `\n\n${answer.tell}`
      } else if (Array.isArray(output?.content)) {
        output.content.push({ type: "text", text: answer.tell })
      }
    },
    event: async ({ event: happened }) => {
      const about = happened.properties ?? {}
      if (happened.type === "message.part.updated") {
        const part = about.part ?? {}
        const call = part.type === "tool" && calls.get(part.callID)
        if (!call || part.state?.status !== "error") return
        calls.delete(part.callID)
        await tell("tool.execute.failed", call.sessionID, {
          tool: call.tool,
          callID: call.callID,
          args: call.args,
        })
      } else if (happened.type === "session.created" || happened.type === "session.deleted") {
        const session = about.info ?? {}
        if (session.id) {
          parents.set(session.id, session.parentID ?? "")
          await tell(happened.type, session.id)
        }
      } else if (happened.type === "session.idle" && about.sessionID) {
        await tell("session.idle", about.sessionID)
      }
    },
  }
}
)~";

}  // namespace

std::string plugin_text(std::string_view program) {
  return std::string(kFirstLine) + std::string(kProgramLine) + Json(program).dump() + "\n" +
         std::string(kRest);
}

bool is_our_plugin(std::string_view text) {
  return text.starts_with(kFirstLine);
}

std::optional<std::string> program_of_plugin(std::string_view text) {
  if (!is_our_plugin(text)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  if (!text.starts_with(kProgramLine)) return std::nullopt;
  text.remove_prefix(kProgramLine.size());
  const Json program = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return program.is_string() ? std::optional(program.get<std::string>()) : std::nullopt;
}

}  // namespace lockkeeper::install
