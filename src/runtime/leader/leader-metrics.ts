/** LeaderMetrics: whether this process leads, under the name that client-go's dashboards expect. */
import { Gauge, type Registry } from '@prometheus-io/client';

/**
 * Registers `leader_election_master_status{name}`: 1 while this process leads, else 0, and 0 from the
 * start.
 *
 * @param name of the lease.
 */
export function leaderMetrics(registry: Registry, name: string, leads: () => boolean): void {
  const gauge: Gauge<'name'> = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process holds the lease, 0 while it waits for it.',
    labelNames: ['name'],
    registers: [registry],
    collect: () => gauge.set({ name }, leads() ? 1 : 0),
  });
  gauge.set({ name }, 0);
}
