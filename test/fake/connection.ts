/**
 * Connection to a fake API server, with everything a test does not care about filled in.
 */
import { type Connection, type ConnectOptions, connect } from '../../src/runtime/client/connect.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import type { FakeApiServer } from './api-server.ts';

export function connectTo(server: FakeApiServer, options: Partial<ConnectOptions> = {}): Connection {
  return connect({
    kubeConfig: server.kubeConfig(),
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'test',
    fieldManager: 'test',
    ...options,
  });
}
