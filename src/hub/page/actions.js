// What a visitor may do: break, release, message, drain. Each is confirmed, and goes on record at
// the hub under the visitor's name.
import { byId, h } from "./dom.js";
import { keysOf, keysText } from "./words.js";

export const may = (link, role) => link.who?.roles?.includes(role) ?? false;

// Is it a lease of one of the visitor's own agents?
export const isOwn = (link, lease) =>
  !lease.foreign && (!link.who?.name || lease.agent.endsWith(`@${link.who.name}`));

// A question with fields; resolves to their values, or null. `run` may refuse: its words stay in
// the dialog.
function ask({ title, text, fields = [], verb, danger, run }) {
  const dialog = byId("ask");
  const fault = h("p", { class: "fault", role: "alert" });
  const inputs = fields.map((field) => {
    const input = field.choices
      ? h(
          "select",
          { name: field.name },
          ...field.choices.map(([value, label]) => h("option", { value }, label)),
        )
      : h(field.long ? "textarea" : "input", {
          name: field.name,
          autocomplete: "off",
          required: field.required,
          maxlength: "2000",
          ...(field.long ? { rows: "3" } : { type: "text" }),
        });
    input.value = field.value ?? (field.choices ? field.choices[0][0] : "");
    return h("label", { class: "field" }, h("span", null, field.label), input);
  });
  const go = h("button", { class: danger ? "danger" : "primary" }, verb);
  const cancel = h("button", { type: "button", class: "quiet" }, "Cancel");
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "ask-title" }, title),
    ...[text].flat().map((each) => h("p", null, each)),
    ...inputs,
    fault,
    h("div", { class: "buttons" }, cancel, go),
  );
  dialog.replaceChildren(form);
  const before = document.activeElement;
  return new Promise((done) => {
    const close = (value) => {
      dialog.onclose = null;
      dialog.close();
      before?.isConnected && before.focus();
      done(value);
    };
    cancel.addEventListener("click", () => close(null));
    dialog.onclose = () => close(null);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      go.disabled = true;
      fault.textContent = "";
      try {
        close(await run(Object.fromEntries(new FormData(form))));
      } catch (error) {
        fault.textContent = [error.message, error.hint].filter(Boolean).join(". ");
        go.disabled = false;
      }
    });
    dialog.showModal();
    // The first field, or the harmless button.
    (inputs[0]?.querySelector("input, textarea, select") ?? cancel).focus();
  });
}

export async function breakLease(page, lease) {
  const keys = keysText(keysOf(lease), 3);
  const next = page.link.waiters.filter((each) => each.waits_for === lease.id);
  const told = await ask({
    title: `Break the lease of ${lease.agent}?`,
    text: [
      `It holds ${keys}. ${lease.agent} is told at its next action that it lost them.`,
      next.length > 0 ? `The queue is kept: ${next[0].agent} is next.` : "Nobody waits for it.",
    ],
    fields: [{ name: "reason", label: "Reason (optional)" }],
    verb: "Break the lease",
    danger: true,
    run: async ({ reason }) => {
      const body = { leases: [lease.id], reason: reason.trim() || "broken on the page" };
      if (lease.foreign) body.foreign = true;
      await page.api.post("break", body);
      return `The lease of ${lease.agent} on ${keys} is broken.`;
    },
  });
  if (told) page.done(told);
}

export async function releaseLease(page, lease) {
  const keys = keysText(keysOf(lease), 3);
  const told = await ask({
    title: `Release ${keys}?`,
    text: `It is yours, as ${lease.agent}. Whoever works under that name must stop changing it.`,
    verb: "Release",
    run: async () => {
      const owner = { agent: lease.agent, session: lease.session };
      await page.api.post("release", { leases: [lease.id] }, owner);
      return `${keys} is released.`;
    },
  });
  if (told) page.done(told);
}

export const kMessageTypes = ["update", "request", "alert", "question", "review"];

export async function sendMessage(page, to) {
  const told = await ask({
    title: to.agent ? `Message to ${to.agent}` : "Message to everybody",
    text: "It is shown with the next command or tool call of whoever gets it.",
    fields: [
      { name: "text", label: "Text", long: true, required: true },
      { name: "type", label: "Kind", choices: kMessageTypes.map((each) => [each, each]) },
    ],
    verb: "Send",
    run: async ({ text, type }) => {
      const receiver = to.agent
        ? { to: to.agent, ...(to.session ? { to_session: to.session } : {}) }
        : { to_everybody: true };
      await page.api.post("messages", { ...receiver, text, type });
      return `The message to ${to.agent ?? "everybody"} is sent.`;
    },
  });
  if (told) page.done(told);
}

export async function drain(page) {
  const on = !page.link.who.draining;
  const told = await ask({
    title: on ? "Drain this hub?" : "End the drain?",
    text: on
      ? "Nothing new is granted, in all realms. Holders finish; whoever waits already gets its turn."
      : "The hub grants again.",
    verb: on ? "Drain" : "End the drain",
    danger: on,
    run: async () => {
      await page.api.post("drain", { on });
      return on ? "The hub drains: it grants nothing new." : "The drain is over.";
    },
  });
  if (told) page.done(told);
}
