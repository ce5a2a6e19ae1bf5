// Requests to the server of this page. The token comes in the fragment of the URL that was printed, and goes into a header.

const KEY = "papertape-token";

function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    // A view can be shared by its URL, the token must not be.
    fragment.delete("token");
    history.replaceState(null, "", `#${fragment}`);
  }
  return given ?? sessionStorage.getItem(KEY);
}

const token = takeToken();

export class Refused extends Error {
  constructor(message, status, detail) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

function address(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  return `/api/${path}?${query}`;
}

async function send(path, params, options = {}) {
  if (!token) throw new Refused("Open the URL that papertape has printed: it has the token of this start.", 401);
  const headers = { "papertape-token": token, ...options.headers };
  const response = await fetch(address(path, params), { ...options, headers, cache: "no-store", redirect: "error" });
  if (response.ok) return response;
  const detail = await response.json().catch(() => ({}));
  throw new Refused(detail.error ?? `status ${response.status}`, response.status, detail);
}

export const get = async (path, params, signal) => (await send(path, params, { signal })).json();

/** The bytes of a message from an offset on, and how many there are. */
export async function bytes(params, signal) {
  const response = await send("body", params, { signal });
  return { bytes: new Uint8Array(await response.arrayBuffer()), size: Number(response.headers.get("papertape-size")) };
}

/** `text` is JSON already, so that numbers keep their digits. */
export async function post(path, text, signal) {
  const headers = { "content-type": "application/json" };
  return (await send(path, {}, { method: "POST", body: text, headers, signal })).json();
}

export async function postTape(file) {
  const headers = { "content-type": "application/octet-stream" };
  return (await send("tapes", { name: file.name }, { method: "POST", body: file, headers })).json();
}

/** For printing alone, which does not wait. */
export function getNow(path, params) {
  const request = new XMLHttpRequest();
  request.open("GET", address(path, params), false);
  request.setRequestHeader("papertape-token", token);
  request.send();
  return request.status === 200 ? JSON.parse(request.responseText) : { rows: [], total: 0 };
}
