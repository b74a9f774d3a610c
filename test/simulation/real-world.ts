/**
 * The real world, closed: while it is, everything through which a program reaches real time, real chance, the disk
 * or the network notes who asked and throws. What a simulation needs of it, its driver's setImmediate, was taken
 * before.
 */
import childProcess from 'node:child_process';
import crypto from 'node:crypto';
import dns from 'node:dns';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import perfHooks from 'node:perf_hooks';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import tls from 'node:tls';

type Functions = Record<string, unknown>;

const timerNames = ['setTimeout', 'setInterval', 'setImmediate'];
const randomNames = ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync', 'randomFill'];
const fileNames = ['readFile', 'open', 'writeFile', 'stat', 'readdir', 'watch'];

const doors: readonly (readonly [name: string, holder: object, names: readonly string[]])[] = [
  ['globalThis', globalThis, [...timerNames, 'fetch']],
  ['timers', timers, timerNames],
  ['timers/promises', timersPromises, timerNames],
  ['AbortSignal', AbortSignal, ['timeout']],
  ['Math', Math, ['random']],
  ['Date', Date, ['now']],
  ['performance', performance, ['now']],
  ['process', process, ['hrtime', 'cpuUsage', 'memoryUsage', 'uptime', 'on', 'exit', 'emitWarning']],
  ['perf_hooks', perfHooks, ['monitorEventLoopDelay']],
  ['crypto', crypto, randomNames],
  ['webcrypto', globalThis.crypto, ['randomUUID', 'getRandomValues']],
  ['fs', fs, [...fileNames, ...fileNames.map((name) => `${name}Sync`), 'existsSync']],
  ['fs/promises', fsPromises, fileNames],
  ['net', net, ['connect', 'createConnection', 'createServer']],
  ['tls', tls, ['connect', 'createServer']],
  ['http', http, ['request', 'get', 'createServer']],
  ['https', https, ['request', 'get', 'createServer']],
  ['dns', dns, ['lookup', 'resolve']],
  ['child_process', childProcess, ['spawn', 'exec', 'execFile', 'execFileSync']],
];

/** Who reached what, as stacks; empty when none did. */
export async function withoutRealWorld(run: () => Promise<void>): Promise<string[]> {
  const reached: string[] = [];
  const closed = (name: string) => () => {
    const error = new Error(`${name} was reached`);
    reached.push(error.stack ?? error.message);
    throw error;
  };
  const restores: (() => void)[] = [];
  const replace = (holder: object, name: string, value: unknown) => {
    const before = Object.getOwnPropertyDescriptor(holder, name);
    Object.defineProperty(holder, name, { value, configurable: true, writable: true });
    restores.push(() => {
      if (before === undefined) delete (holder as Functions)[name];
      else Object.defineProperty(holder, name, before);
    });
  };
  for (const [holderName, holder, names] of doors) {
    for (const name of names) {
      if (typeof (holder as Functions)[name] === 'function')
        replace(holder, name, closed(`${holderName}.${name}`));
    }
  }
  replace(globalThis, 'Date', dateWithoutNow(closed('new Date()')));
  syncBuiltinESMExports();
  try {
    await run();
  } finally {
    for (const restore of restores.toReversed()) restore();
    syncBuiltinESMExports();
  }
  return reached;
}

/** Date as it is, but for the one that asks for the present. */
function dateWithoutNow(refuse: () => never): DateConstructor {
  return new Proxy(Date, {
    construct: (target, args, newTarget) =>
      args.length === 0 ? refuse() : Reflect.construct(target, args, newTarget),
    apply: refuse,
  });
}
