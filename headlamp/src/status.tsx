/** What the pages of both kinds share: the colour of a state, the clock, and an object without Headlamp's class. */
import { StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useEffect, useState } from 'react';
import type { Tone } from '../../src/cli/output/style.ts';
import type { Viewpoint } from '../../src/cli/time/local.ts';

const colours: Readonly<Record<Tone, 'success' | 'warning' | 'error' | ''>> = {
  good: 'success',
  bad: 'error',
  warn: 'warning',
  busy: '',
  faint: '',
  strong: '',
  plain: '',
};

export function Status({ word, tone }: { readonly word: string; readonly tone: Tone }) {
  return <StatusLabel status={colours[tone]}>{word}</StatusLabel>;
}

/** Times are shown in the browser's zone, and follow the clock. */
export function useViewpoint(): Viewpoint {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  return { now, zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

/** @typeParam T what the API server sends of this kind. */
export function plain<T>(item: { readonly jsonData: unknown }): T {
  return item.jsonData as T;
}
