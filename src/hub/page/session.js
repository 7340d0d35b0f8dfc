// The visitor's token. It comes once, in the address's fragment, which no server or log sees; it
// stays in this tab.
const kName = "lockkeeper-token";

export function takeToken() {
  const match = /^#token=([^&]+)$/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(kName, decodeURIComponent(match[1]));
    history.replaceState(null, "", `${location.pathname}${location.search}#/now`);
  }
  return sessionStorage.getItem(kName) ?? "";
}

export const keepToken = (token) => sessionStorage.setItem(kName, token);
export const forgetToken = () => sessionStorage.removeItem(kName);
