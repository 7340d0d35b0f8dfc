// The visitor's token. It stays in this tab. It comes from the login form; or from the address's
// fragment, which no server or log sees: as the token itself, or as a pass of `lockkeeper open`,
// which is good once and is exchanged for a token here.
import { Api } from "./api.js";

const kName = "lockkeeper-token";

export async function takeToken() {
  const match = /^#(token|pass)=([^&]+)$/.exec(location.hash);
  if (!match) return sessionStorage.getItem(kName) ?? "";
  history.replaceState(null, "", `${location.pathname}${location.search}#/now`);
  const given = decodeURIComponent(match[2]);
  const token = match[1] === "pass" ? await exchange(given) : given;
  keepToken(token);
  return token;
}

async function exchange(pass) {
  try {
    return (await new Api(pass).post("login", {})).token;
  } catch (error) {
    if (error.status !== 401) throw error;
    const kept = sessionStorage.getItem(kName);
    if (kept) return kept; // the same link again, in the same tab
    throw new Error("This link was used already, or is older than a minute");
  }
}

export const keepToken = (token) => sessionStorage.setItem(kName, token);
export const forgetToken = () => sessionStorage.removeItem(kName);
