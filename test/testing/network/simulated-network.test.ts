import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Endpoint } from '../../../src/runtime/client/endpoint.ts';
import type { HttpConnection } from '../../../src/runtime/client/http-connection.ts';
import type { ApiRequest, Responder } from '../../../src/testing/api-server/api-message.ts';
import type { SimulatedLink } from '../../../src/testing/network/simulated-link.ts';
import { SimulatedNetwork } from '../../../src/testing/network/simulated-network.ts';
import { MachineTime } from '../../../src/testing/simulated-clock.ts';
import { SimulatedProcess } from '../../../src/testing/simulated-process.ts';
import { Simulation } from '../../../src/testing/simulation.ts';

const endpoint = new Endpoint({ server: new URL('https://api') });

/** What a client has heard of one request. */
class Heard {
  sent = false;
  code: number | undefined;
  headers: Record<string, unknown> = {};
  body = '';
  pieces: number[] = [];
  ended = false;
  error: Error | undefined;
  at = 0;
}

let simulation: Simulation;
let network: SimulatedNetwork;
let link: SimulatedLink;
let process: SimulatedProcess;
let connection: HttpConnection;
/** Requests that came to the server, and what answers them. */
let received: ApiRequest[];
let responders: Responder[];
let closed: number;
let respond: (request: ApiRequest, responder: Responder) => void;

beforeEach(() => {
  simulation = new Simulation({ seed: 'network' });
  network = new SimulatedNetwork(simulation);
  received = [];
  responders = [];
  closed = 0;
  respond = ({ path }, responder) => responder.answer({ code: 200, headers: { a: 'b' }, body: `<${path}>` });
  network.addServer('api-0', {
    receive(request, responder) {
      received.push(request);
      responders.push(responder);
      respond(request, responder);
      return { closed: () => closed++ };
    },
  });
  link = network.link('one');
  const time = new MachineTime(simulation);
  process = new SimulatedProcess({ simulation, name: 'one', user: 'me', time, link });
  connection = process.ports.openConnection(endpoint);
});

function send(path = '/a?b=c%20d', on = connection, beforeSend = () => {}): Heard {
  const heard = new Heard();
  const headers = ['accept', 'application/json', 'content-type', 'text/plain'];
  on.dispatch(
    { method: 'POST', path, headers, body: 'hello' },
    {
      onRequestStart() {
        beforeSend();
        heard.sent = true;
      },
      onResponseStart(_, code, answered) {
        heard.code = code;
        heard.headers = answered;
      },
      onResponseData(_, chunk) {
        heard.body += chunk.toString();
        heard.pieces.push(chunk.length);
      },
      onResponseEnd() {
        heard.ended = true;
        heard.at = simulation.elapsed;
      },
      onResponseError(_, error) {
        heard.error = error;
        heard.at = simulation.elapsed;
      },
    },
  );
  return heard;
}

const codeOf = ({ error }: Heard) => (error as NodeJS.ErrnoException | undefined)?.code;
const messageOf = ({ error }: Heard) => error?.message;

const pass = (ms: number) => simulation.run({ until: simulation.elapsed + ms });

/** Connected and idle. */
async function connected(): Promise<void> {
  const heard = send('/first');
  await pass(1000);
  assert.equal(heard.ended, true);
  received.length = 0;
}

describe('a request', () => {
  it('is brought to the server as the client has sent it, and its answer back', async () => {
    const heard = send();
    assert.equal(heard.sent, false);
    await pass(1000);
    const [request] = received;
    assert.equal(received.length, 1);
    assert.deepEqual(
      { ...request, query: [...(request?.query ?? [])] },
      {
        method: 'POST',
        path: '/a',
        query: [['b', 'c d']],
        headers: { accept: 'application/json', 'content-type': 'text/plain' },
        body: 'hello',
        user: 'me',
      },
    );
    assert.deepEqual([heard.code, heard.headers.a, heard.body, heard.ended], [200, 'b', '</a>', true]);
    assert.equal(heard.headers.date, 'Mon, 01 Jan 2024 00:00:00 GMT');
    assert.equal(link.connections, 1);
  });

  it('goes out in the same turn when there is a connection, and takes time', async () => {
    await connected();
    const begun = simulation.elapsed;
    const heard = send('/second');
    assert.equal(heard.sent, true);
    assert.equal(received.length, 0);
    await pass(1000);
    assert.equal(heard.ended, true);
    assert.ok(heard.at > begun);
    assert.equal(link.connections, 1);
  });

  it('is not sent when its handler refuses, and the connection stays good', async () => {
    await connected();
    const heard = send('/refused', connection, () => {
      throw new Error('not any more');
    });
    assert.equal(heard.error?.message, 'not any more');
    await pass(1000);
    assert.equal(received.length, 0);
    assert.equal(send('/next').sent, true);
  });

  it('is refused while no server is up', async () => {
    network.stopServer('api-0');
    const heard = send();
    await pass(1000);
    assert.equal(codeOf(heard), 'ECONNREFUSED');
    network.startServer('api-0');
    const next = send();
    await pass(1000);
    assert.equal(next.ended, true);
  });

  it('fails when its server stops while it connects', async () => {
    link.latency = { usual: 100, slow: 100, slowChance: 0 };
    const heard = send();
    await pass(50);
    network.stopServer('api-0');
    await pass(1000);
    assert.equal(codeOf(heard), 'ECONNRESET');
    assert.deepEqual([heard.sent, received.length, link.connections], [false, 0, 0]);
  });

  it('connects again after 45 s without a request', async () => {
    await connected();
    await pass(46_000);
    const heard = send('/later');
    assert.equal(heard.sent, false);
    await pass(1000);
    assert.equal(heard.ended, true);
  });

  it('goes to any server that is up', async () => {
    const names = new Set<string>();
    for (const name of ['api-1', 'api-2']) {
      network.addServer(name, {
        receive(_, responder) {
          names.add(name);
          responder.answer({ code: 200, headers: {}, body: '' });
          return { closed() {} };
        },
      });
    }
    for (let i = 0; i < 30; i++) send('/a', process.ports.openConnection(endpoint));
    await pass(1000);
    assert.equal(names.size, 2);
    assert.ok(received.length > 0 && received.length < 30);
  });
});

describe('a connection that is broken', () => {
  it('tells the request in progress and, later, the server', async () => {
    respond = () => {};
    const heard = send();
    await pass(100);
    connection.break();
    assert.equal(messageOf(heard), undefined);
    assert.equal(closed, 0);
    await pass(100);
    assert.equal(messageOf(heard), 'The client is destroyed');
    assert.equal(closed, 1);
    const next = send('/next');
    respond = (_, responder) => responder.answer({ code: 201, headers: {}, body: '' });
    await pass(100);
    assert.equal(next.code, 201);
  });

  it('takes back what waits for it', async () => {
    const heard = send();
    connection.break();
    await pass(10_000);
    assert.equal(heard.sent, false);
    assert.equal(messageOf(heard), 'The client is destroyed');
    assert.equal(received.length, 0);
    assert.equal(link.connections, 0);
  });

  it('is reset at the server when its process is killed', async () => {
    respond = () => {};
    const heard = send();
    await pass(100);
    process.kill();
    await pass(100);
    assert.equal(closed, 1);
    assert.equal(messageOf(heard), undefined);
    assert.equal(link.connections, 0);
  });
});

describe('a stream', () => {
  const begin = (_: ApiRequest, responder: Responder) =>
    responder.begin({ 'content-type': 'application/json' });

  it('arrives in order, line by line or together', async () => {
    respond = begin;
    const heard = send('/watch');
    await pass(100);
    for (let i = 0; i < 20; i++) {
      responders[0]?.write(`${i}\n`);
      if (i % 5 === 4) await pass(1);
    }
    responders[0]?.end();
    await pass(100);
    assert.equal(heard.body, Array.from({ length: 20 }, (_, i) => `${i}\n`).join(''));
    assert.equal(heard.pieces.length, 4);
    assert.equal(heard.ended, true);
  });

  it('waits while its reader has paused', async () => {
    respond = begin;
    const body: string[] = [];
    let resume = () => {};
    connection.dispatch(
      { method: 'GET', path: '/watch', headers: [] },
      {
        onResponseStart: (controller) => {
          resume = () => controller.resume();
          controller.pause();
        },
        onResponseData: (_, chunk) => body.push(chunk.toString()),
        onResponseEnd: () => body.push('end'),
      },
    );
    await pass(100);
    responders[0]?.write('one');
    await pass(100);
    responders[0]?.write('two');
    responders[0]?.end();
    await pass(100);
    assert.deepEqual(body, []);
    resume();
    assert.deepEqual(body, []);
    await pass(100);
    assert.deepEqual(body, ['one', 'two', 'end']);
  });

  it('is told when the server cuts it', async () => {
    respond = begin;
    const heard = send('/watch');
    await pass(100);
    responders[0]?.write('one');
    responders[0]?.cut();
    await pass(100);
    assert.equal(heard.body, 'one');
    assert.equal(codeOf(heard), 'ECONNRESET');
  });
});

describe('a fault', () => {
  it('loses the request, or the answer, with a reset or in silence', async () => {
    for (const kind of ['requestLost', 'answerLost'] as const) {
      for (const reset of [true, false]) {
        await connected();
        network.fault({}, { kind, reset });
        const heard = send();
        await pass(60_000);
        assert.equal(received.length, kind === 'requestLost' ? 0 : 1);
        assert.equal(heard.code, undefined);
        assert.equal(codeOf(heard), reset ? 'ECONNRESET' : undefined);
        connection.break();
        await pass(10);
      }
    }
  });

  it('cuts the answer in the middle of a line', async () => {
    await connected();
    respond = (_, responder) => responder.answer({ code: 200, headers: {}, body: '0123456789' });
    network.fault({}, { kind: 'cut', bytes: 4 });
    const heard = send();
    await pass(1000);
    assert.deepEqual([heard.code, heard.body, heard.ended], [200, '0123', false]);
    assert.equal(codeOf(heard), 'ECONNRESET');
  });

  it('lets the answer drip, through characters too', async () => {
    await connected();
    const body = 'ä'.repeat(50);
    respond = (_, responder) => responder.answer({ code: 200, headers: {}, body });
    network.fault({}, { kind: 'drip', bytes: 3, every: 100 });
    const heard = send();
    await pass(60_000);
    assert.equal(heard.pieces.length, 34);
    assert.equal(
      heard.pieces.reduce((sum, size) => sum + size),
      100,
    );
    assert.ok(heard.ended && heard.at > 3300);
  });

  it('lets a stream drip for a minute', async () => {
    await connected();
    respond = (_, responder) => {
      for (const after of [1000, 61_000]) simulation.schedule(after, () => responder.write('a'.repeat(30)));
    };
    network.fault({}, { kind: 'drip', bytes: 3, every: 100 });
    const heard = send();
    await pass(62_000);
    assert.deepEqual([heard.pieces.length, heard.pieces.at(-1)], [11, 30]);
  });

  it('delays request and answer', async () => {
    await connected();
    network.fault({}, { kind: 'delay', request: 5000, answer: 3000 });
    const heard = send();
    await pass(4900);
    assert.equal(received.length, 0);
    await pass(200);
    assert.equal(received.length, 1);
    assert.equal(heard.ended, false);
    await pass(3000);
    assert.equal(heard.ended, true);
  });

  it('lets a proxy answer with a page', async () => {
    await connected();
    network.fault({}, { kind: 'page', code: 502 });
    const heard = send();
    await pass(1000);
    assert.equal(received.length, 0);
    assert.equal(heard.code, 502);
    assert.match(heard.body, /Bad Gateway/);
  });

  it('hits what matches, as often as it was said', async () => {
    const fault = { kind: 'page', code: 404 } as const;
    network.fault({ link: 'other' }, fault);
    network.fault({ method: 'GET' }, fault);
    network.fault({ target: '/hit', skip: 1 }, fault, 2);
    network.fault({ target: '/removed' }, fault)();
    const codes: (number | undefined)[] = [];
    for (const path of ['/miss', '/removed', '/hit', '/hit', '/hit', '/hit']) {
      const heard = send(path);
      await pass(100);
      codes.push(heard.code);
    }
    assert.deepEqual(codes, [200, 200, 200, 404, 404, 200]);
  });

  it('comes by chance where the link says how often', async () => {
    link.faultRates = { page: 0.3 };
    let pages = 0;
    for (let i = 0; i < 300; i++) {
      const heard = send();
      await pass(100);
      if (heard.code !== 200) pages++;
    }
    assert.ok(pages > 50 && pages < 150, `${pages}`);
  });
});

describe('a partition', () => {
  it('lets nothing through, and later all that was not given up', async () => {
    await connected();
    const other = process.ports.openConnection(endpoint);
    send('/warm', other);
    await pass(100);
    received.length = 0;
    link.partition();
    const kept = send('/kept');
    const broken = send('/given up', other);
    await pass(10_000);
    assert.deepEqual([kept.sent, broken.sent, received.length], [true, true, 0]);
    other.break();
    link.heal();
    await pass(30_000);
    assert.equal(received.map(({ path }) => path).join(), '/kept');
    assert.equal(kept.ended, true);
  });

  it('of one direction lets requests be done, and brings all of their answers at once after its end', async () => {
    await connected();
    respond = (_, responder) => responder.begin({});
    link.partition('in');
    const heard = send();
    for (const text of 'abcdefghijklmnopqrstuvwxyz') {
      await pass(1000);
      responders.at(-1)?.write(text);
    }
    assert.deepEqual([received.length, heard.code], [1, undefined]);
    link.heal();
    for (let waited = 0; heard.body === '' && waited < 60_000; waited += 10) await pass(10);
    assert.equal(heard.body, 'abcdefghijklmnopqrstuvwxyz');
  });

  it('lets a new connection run into its time limit', async () => {
    link.partition('out');
    const heard = send();
    await pass(3900);
    assert.equal(messageOf(heard), undefined);
    await pass(200);
    assert.match(messageOf(heard) ?? '', /no connection within 4 s/);
    assert.equal(heard.sent, false);
  });

  it('ends what is silent for longer than TCP waits', async () => {
    respond = () => {};
    const heard = send();
    await pass(100);
    link.partition();
    await pass(14 * 60_000);
    assert.equal(codeOf(heard), 'ETIMEDOUT');
    assert.equal(closed, 1);
  });
});

describe('a link', () => {
  it('resets all of its connections at both ends', async () => {
    respond = () => {};
    const heard = [send(), send('/b', process.ports.openConnection(endpoint))];
    await pass(100);
    link.reset();
    assert.equal(closed, 2);
    await pass(1);
    assert.ok(heard.every(({ error }) => error !== undefined));
    assert.equal(link.connections, 0);
  });

  it('forgets its connections, which hear nothing any more; new ones work', async () => {
    respond = (_, responder) => responder.begin({});
    const heard = send('/watch');
    await pass(100);
    link.halfOpen();
    responders[0]?.write('unheard');
    await pass(60_000);
    assert.deepEqual([heard.body, heard.error, heard.ended], ['', undefined, false]);
    const other = send('/other', process.ports.openConnection(endpoint));
    await pass(100);
    assert.equal(other.code, 200);
    await pass(20 * 60_000);
    assert.equal(codeOf(heard), 'ETIMEDOUT');
  });

  it('of a server that stops loses its connections', async () => {
    respond = () => {};
    const heard = send();
    await pass(100);
    network.stopServer('api-0');
    await pass(100);
    assert.equal(codeOf(heard), 'ECONNRESET');
    assert.equal(closed, 1);
  });

  it('brings nothing to a stopped process before it goes on', async () => {
    await connected();
    const heard = send();
    process.stop();
    await pass(1000);
    assert.equal(received.length, 1);
    assert.equal(heard.ended, false);
    process.continue();
    await pass(1);
    assert.equal(heard.ended, true);
  });
});
