/** Machines with a public address, by the HTTP API of their provider. */
export interface Machines {
  /** Its address. Makes it where there is none of the name: a second call makes no second machine. */
  ensure(name: string, signal: AbortSignal): Promise<string>;
  /** A machine that is gone is no error. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

/** @param url `PUT` and `DELETE` of `<url>/<name>`; the answer to PUT is `{"address": "…"}`. */
export function httpMachines(url: string): Machines {
  const call = async (method: string, name: string, signal: AbortSignal) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
    const answer = await fetch(`${url}/${name}`, { method, signal: limited });
    const isGone = method === 'DELETE' && answer.status === 404;
    if (!answer.ok && !isGone) throw new Error(`${method} ${name}: ${answer.status}`);
    return answer;
  };
  return {
    ensure: async (name, signal) => {
      const { address } = (await (await call('PUT', name, signal)).json()) as { address: string };
      return address;
    },
    remove: async (name, signal) => {
      await (await call('DELETE', name, signal)).body?.cancel();
    },
  };
}
