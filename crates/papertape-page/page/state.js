// What is shown: kept in the fragment of the URL, so that a view can be shared together with its tape.

const NAMES = ["q", "only", "method", "t0", "t1", "sel", "tab", "time"];
const listeners = new Set();

function read() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(NAMES.map((name) => [name, fragment.get(name) ?? ""]));
}

export const state = read();
/** The tape: 0 is that of the command line, others were dropped. */
state.tape = 0;

export function set(changes) {
  const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  if (!changed.length) return;
  Object.assign(state, changes);
  const fragment = new URLSearchParams();
  for (const name of NAMES) if (state[name]) fragment.set(name, state[name]);
  history.replaceState(null, "", `#${fragment}`);
  for (const listener of listeners) listener(changed);
}

export const onChange = (listener) => listeners.add(listener);

/** The part of it that says which frames are listed. */
export const filter = () => ({ tape: state.tape, q: state.q, only: state.only, method: state.method, t0: state.t0, t1: state.t1 });

export const FILTER = ["q", "only", "method", "t0", "t1", "tape"];

addEventListener("hashchange", () => set(read()));
