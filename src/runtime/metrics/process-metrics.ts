/** ProcessMetrics: memory, CPU, garbage collection and event loop of this process, by the client library. */
import { collectDefaultMetrics, type Registry } from '@prometheus-io/client';

/**
 * Ms between two samples of the event loop's delay. The library's default of 10 would wake an idle process
 * a hundred times a second.
 */
const eventLoopResolution = 100;

export function processMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopResolution });
}
