#include "core/traces.h"

#include <algorithm>
#include <iterator>

#include "core/condition.h"
#include "core/sessions.h"

namespace lockkeeper::core {
namespace {

Result<void> put_trace(State& state, Trace trace) {
  trace.clock = stamp_of(state.context()).clock;
  const std::string key = trace_key(trace.worktree, trace.change.path);
  LK_ASSIGN(const std::optional<kv::Row> known, state.txn().get(key));
  LK_CHECK(state.txn().put(key, encode_trace(trace)));
  if (known) return {};  // its due row is there, and is filed again while it is young
  return state.file_due(state.context().now.mono_ms + kTraceKeptMs, Due::kTrace,
                        std::string_view(key).substr(1));
}

void set_earlier(Trace& trace, std::vector<Written> writers) {
  if (writers.size() > kToldMax) writers.erase(writers.begin());
  for (Written& one : writers) {
    trace.earlier.push_back(std::move(one.owner));
    trace.earlier_content.push_back(std::move(one.content));
  }
}

// Puts those into `trace` that wrote the file before its owner did.
void keep_earlier_writers(const Trace& before, Trace& trace) {
  std::vector<Written> writers = writers_of(before);
  if (trace.change.clean) {
    trace.owner = {};
  } else if (before.change.clean) {
    // Nobody's work was in it. If somebody's has come back, it is still that one's.
    writers = writers_in(before, trace.change.content);
    if (!writers.empty()) {
      if (!trace.owner.agent.empty()) trace.told.push_back(trace.owner);
      trace.owner = writers.back().owner;
    }
  }
  std::erase_if(writers, [&](const Written& one) { return one.owner == trace.owner; });
  set_earlier(trace, std::move(writers));
}

}  // namespace

Result<void> put_traces(State& state, const std::string& worktree, const Owner& owner,
                        const std::vector<Change>& changed) {
  for (const Change& change : changed) {
    Trace trace;
    trace.worktree = worktree;
    trace.change = change;
    trace.owner = owner;
    trace.at_wall_ms = state.context().now.wall_ms;
    trace.at_mono_ms = state.context().now.mono_ms;
    trace.epoch = state.context().epoch.id;
    if (change.clean && !owner.agent.empty()) trace.told = {owner};
    LK_ASSIGN(const std::optional<Trace> before, trace_of(state, worktree, change.path));
    if (before) keep_earlier_writers(*before, trace);
    if (change.clean && trace.earlier.empty()) {
      // Nobody's work can come back to it.
      if (before) LK_CHECK(state.txn().erase(trace_key(worktree, change.path)));
      continue;
    }
    LK_CHECK(put_trace(state, trace));
  }
  return {};
}

Result<void> put_away_traces(State& state, const std::string& worktree,
                             const std::vector<Change>& clean) {
  for (const Change& change : clean) {
    LK_ASSIGN(const std::optional<Trace> before, trace_of(state, worktree, change.path));
    if (!before || before->change.clean) continue;
    Trace trace = *before;
    trace.change = change;
    trace.change.clean = true;
    trace.earlier.clear();
    trace.earlier_content.clear();
    keep_earlier_writers(*before, trace);
    LK_CHECK(put_trace(state, trace));
  }
  return {};
}

std::vector<Written> writers_of(const Trace& trace) {
  std::vector<Written> writers;
  const auto add = [&](const Owner& owner, const std::string& content) {
    if (owner.agent.empty()) return;
    std::erase_if(writers, [&](const Written& one) { return one.owner == owner; });
    writers.push_back({owner, content});
  };
  for (std::size_t i = 0; i < trace.earlier.size(); ++i) {
    const bool known = i < trace.earlier_content.size();
    add(trace.earlier[i], known ? trace.earlier_content[i] : std::string());
  }
  if (!trace.change.clean) add(trace.owner, trace.change.content);
  return writers;
}

std::vector<Written> writers_in(const Trace& trace, const std::string& content) {
  std::vector<Written> writers = writers_of(trace);
  if (!trace.change.clean) return writers;
  const auto back = std::ranges::find_if(writers.rbegin(), writers.rend(), [&](const Written& one) {
    return !content.empty() && one.content == content;
  });
  writers.erase(back.base(), writers.end());
  return writers;
}

bool holds_alone(const Lease& lease, const key::Resource& file) {
  return std::ranges::any_of(lease.claims, [&](const Claim& claim) {
    return claim.mode == Mode::kExclusive && key::covers(claim.resource, file);
  });
}

bool takes_over(const Lease& lease, const key::Resource& file, const Trace& trace, bool own) {
  const bool later = own || lease.acquired_wall_ms > trace.at_wall_ms;
  return !lease.edit && later && holds_alone(lease, file);
}

Result<bool> is_gone(State& state, const Trace& trace, const Owner& writer) {
  const Context& context = state.context();
  if (trace.epoch != context.epoch.id) return true;
  Owner session = writer;
  while (const auto above = nearest_whole(session)) session = *above;
  LK_ASSIGN(const Activity activity, state.activity(session));
  if (activity.noted_mono_ms != 0) return activity.gone;
  return context.now.mono_ms - trace.at_mono_ms > context.limits.remember_ms;
}

Result<std::optional<Trace>> trace_of(State& state, const std::string& worktree,
                                      const std::string& path) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(trace_key(worktree, path)));
  if (!row) return std::nullopt;
  LK_ASSIGN(Trace trace, decode_trace(row->value));
  to_own_clock(trace, *row, state.context());
  if (trace.worktree != worktree || trace.change.path != path) return std::nullopt;
  return trace;
}

Result<void> each_trace(State& state, const std::string& worktree,
                        const std::function<void(const Trace&)>& visit) {
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      traces_of(worktree),
      [&](const kv::Row& row) {
        auto trace = decode_trace(row.value);
        if (!trace) {
          readable = fail(std::move(trace.error()));
          return false;
        }
        to_own_clock(*trace, row, state.context());
        if (trace->worktree == worktree) visit(*trace);
        return true;
      },
      kv::Read::kPeek));
  return readable;
}

Result<void> each_activity(State& state,
                           const std::function<void(const Owner&, const Activity&)>& visit) {
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(kActivityPrefix),
      [&](const kv::Row& row) {
        auto read = decode_activity(row.value);
        if (!read) readable = fail(read.error());
        if (read) to_own_clock(read->second, row, state.context());
        if (read && read->second.epoch == state.context().epoch.id) {
          visit(read->first, read->second);
        }
        return read.has_value();
      },
      kv::Read::kPeek));
  return readable;
}

Result<void> restore_trace(State& state, const Trace& trace) {
  const Context& context = state.context();
  const std::int64_t passed = std::max<std::int64_t>(0, context.now.wall_ms - trace.at_wall_ms);
  if (passed >= kTraceKeptMs) return {};
  const std::string key = trace_key(trace.worktree, trace.change.path);
  LK_CHECK(state.txn().put(key, encode_trace(trace)));
  return state.file_due(context.now.mono_ms + kTraceKeptMs - passed, Due::kTrace,
                        std::string_view(key).substr(1));
}

// The due row finds nothing some day, and goes.
Result<void> forget_traces(State& state, const std::string& worktree,
                           const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    LK_ASSIGN(const std::optional<Trace> known, trace_of(state, worktree, path));
    if (known) LK_CHECK(state.txn().erase(trace_key(worktree, path)));
  }
  return {};
}

Result<std::optional<Trace>> unseen_change(State& state, const Owner& owner,
                                           const std::string& worktree, const std::string& path) {
  LK_ASSIGN(std::optional<Trace> trace, trace_of(state, worktree, path));
  if (!trace || trace->owner == owner) return std::nullopt;
  if (std::ranges::find(trace->told, owner) != trace->told.end()) return std::nullopt;
  const bool wrote = std::ranges::find(trace->earlier, owner) != trace->earlier.end();
  if (wrote) return trace;
  LK_ASSIGN(const Activity activity, state.activity(owner));
  if (activity.turn_wall_ms > trace->at_wall_ms) return std::nullopt;
  return trace;
}

Result<void> note_told(State& state, const Owner& owner, const Trace& trace) {
  LK_ASSIGN(std::optional<Trace> known, trace_of(state, trace.worktree, trace.change.path));
  // Changed again since: of that it was not told.
  if (!known || known->at_wall_ms != trace.at_wall_ms || known->owner != trace.owner) return {};
  if (std::ranges::find(known->told, owner) != known->told.end()) return {};
  known->told.push_back(owner);
  if (known->told.size() > kToldMax) known->told.erase(known->told.begin());
  return put_trace(state, *known);
}

}  // namespace lockkeeper::core
