// /v1, for pages and for the worker. An answer that is no success becomes a Refused: code, message
// and hint as the command line has them.
export class Refused extends Error {
  constructor(status, error, json = null) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.hint = error.hint ?? "";
    this.json = json;
  }
}

export class Api {
  constructor(token, realm = "") {
    this.token = token;
    this.realm = realm;
  }

  headers(owner = {}) {
    const headers = { "Lockkeeper-Agent": owner.agent ?? "page" };
    if (owner.session) headers["Lockkeeper-Session"] = owner.session;
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    return headers;
  }

  address(path, query = {}) {
    const all = new URLSearchParams(query);
    if (this.realm) all.set("realm", this.realm);
    return `/v1/${path}${all.size > 0 ? `?${all}` : ""}`;
  }

  async ask(method, path, { query, body, owner, signal } = {}) {
    const headers = this.headers(owner);
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(this.address(path, query), {
      method,
      headers,
      signal,
      cache: "no-store",
      credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    let json = null;
    try {
      json = JSON.parse(text);
    } catch {
      // told below
    }
    if (answer.ok && json) return json;
    const plain = { code: "failed", message: text.trim().slice(0, 200) || answer.statusText };
    throw new Refused(answer.status, json?.error ?? plain, json);
  }

  get = (path, query, more = {}) => this.ask("GET", path, { query, ...more });
  post = (path, body, owner) => this.ask("POST", path, { body, owner });

  // All events since a time, oldest first. An older hub knows no `from`: what is too old is left
  // out here, too.
  async eventsSince(from, query = {}) {
    const kPage = 10_000;
    const kMost = 100_000;
    const all = [];
    let since = 0;
    while (all.length < kMost) {
      const { events } = await this.get("events", {
        from: new Date(from).toISOString(),
        since,
        limit: kPage,
        ...query,
      });
      for (const event of events) if (Date.parse(event.at) >= from) all.push(event);
      if (events.length < kPage) break;
      since = events.at(-1).seq;
    }
    return all;
  }
}
