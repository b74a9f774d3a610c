/** Draws a trace as SVG, for light and dark backgrounds. Pure: the same trace gives the same picture. */
import type { Part, PodSpan, Trace } from './trace.ts';

const width = 860;
const left = 150;
const right = 24;
const rowHeight = 26;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .quiet { fill: #59636e; font-size: 12px; }
  .card { fill: #f6f8fa; stroke: #d1d9e0; }
  .mark { stroke: #8250df; stroke-width: 1.5; stroke-dasharray: 4 3; }
  .start { fill: #d4a72c; } .run { fill: #2da44e; } .old { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .card { fill: #151b23; stroke: #3d444d; }
    .mark { stroke: #ab7df8; }
  }`;

export function draw({ parts }: Trace): string {
  let top = 12;
  const cards = parts.map((part) => {
    const card = drawPart(part, top);
    top += heightOf(part) + 16;
    return card;
  });
  const legend = drawLegend(top + 8);
  const height = top + 24;
  const label =
    'Time lines of a run: an At starts its Pod on time, and a ConfigWatcher replaces Pods after an edit';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${label}">`,
    `<style>${style}\n</style>`,
    ...cards,
    legend,
    '</svg>\n',
  ].join('\n');
}

function heightOf({ moments, pods }: Part): number {
  return 48 + (moments.length + pods.length) * rowHeight;
}

function drawPart(part: Part, top: number): string {
  const times = [
    ...part.moments.map(({ at }) => at),
    ...part.pods.flatMap(({ ready, ended = ready }) => [ready, ended]),
  ];
  const end = Math.max(...times) * 1.08;
  const x = (time: number) => Math.round(left + (Math.max(time, 0) / end) * (width - left - right));
  const height = heightOf(part);
  const lines = part.moments.map(({ at, text }, index) => {
    const y = top + 50 + index * rowHeight;
    const onLeft = x(at) > width * 0.62;
    const anchor = onLeft ? ` text-anchor="end" x="${x(at) - 6}"` : ` x="${x(at) + 6}"`;
    return `<line class="mark" x1="${x(at)}" x2="${x(at)}" y1="${y - 12}" y2="${top + height - 10}"/><text${anchor} y="${y}">${escapeText(`${(at / 1000).toFixed(1)} s  ${text}`)}</text>`;
  });
  const rows = part.pods.map((pod, index) => {
    const y = top + 38 + (part.moments.length + index) * rowHeight;
    return drawPod(pod, y, x, end);
  });
  return [
    `<rect class="card" x="8" y="${top}" width="${width - 16}" height="${height}" rx="8"/>`,
    `<text class="title" x="20" y="${top + 24}">${escapeText(part.kind)}</text>`,
    `<text class="quiet" x="${left}" y="${top + 24}">${escapeText(part.title)}</text>`,
    ...lines,
    ...rows,
  ].join('\n');
}

function drawPod(pod: PodSpan, y: number, x: (time: number) => number, end: number): string {
  const bar = (name: string, from: number, to: number) =>
    `<rect class="${name}" x="${x(from)}" y="${y}" width="${Math.max(x(to) - x(from), 3)}" height="14" rx="3"/>`;
  const until = pod.ended ?? end;
  return [
    `<text class="quiet" x="20" y="${y + 12}">${escapeText(pod.name)}</text>`,
    ...(pod.created < 0
      ? [bar('old', 0, until)]
      : [bar('start', pod.created, pod.ready), bar('run', pod.ready, until)]),
  ].join('\n');
}

function drawLegend(y: number): string {
  const entries = ['start:the Pod starts', 'run:runs, or is Ready', 'old:has the older content'];
  return entries
    .map((entry, index) => {
      const [name = '', text = ''] = entry.split(':');
      const x = left + index * 190;
      return `<rect class="${name}" x="${x}" y="${y - 10}" width="12" height="12" rx="3"/><text class="quiet" x="${x + 18}" y="${y}">${text}</text>`;
    })
    .join('\n');
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
