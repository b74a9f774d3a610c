/** Draws the dashboard with what was recorded, as SVG, in Grafana's layout, a line for each panel. Pure: the same recording gives the same picture. */
import { type Dashboard, type Panel, type Recording, type Series, valuesOf } from './recording.ts';
import { formatValue, niceMaximum } from './units.ts';

const width = 1200;
/** Of one of the 24 columns, and of one row, as Grafana counts them. */
const column = width / 24;
const row = 26;
const head = 44;

const colors = ['#3b82c4', '#c27803', '#2f9e5b', '#b4439a', '#7a6ff0', '#c0504d', '#4f9da6', '#8a8d00'];
const levels: Readonly<Record<string, string>> = { green: '#2f9e5b', orange: '#d9822b', red: '#c9302c' };

const style = `
  text { font: 11px system-ui, sans-serif; fill: #1f2328; }
  .page { fill: #f4f5f5; } .panel { fill: #ffffff; stroke: #d8dbe0; }
  .title { font-weight: 600; font-size: 12px; } .row { font-weight: 600; font-size: 13px; }
  .quiet { fill: #59636e; } .value { font-size: 30px; font-weight: 600; fill: #ffffff; }
  .onColor { font-weight: 600; font-size: 12px; fill: #ffffff; }
  .grid { stroke: #e4e7eb; } .line { fill: none; stroke-width: 1.4; } .threshold { stroke-dasharray: 5 4; }`;

export function draw({ title, panels }: Dashboard, recording: Recording): string {
  const rows = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  const height = head + rows * row + 8;
  const minutes = Math.round((lengthOf(recording) * recording.stepSeconds) / 60);
  const origin =
    `${minutes} minutes on the local cluster (Kubernetes ${recording.kubernetes}), scraped and queried by Prometheus ` +
    `${recording.prometheus}. Drawn from dashboard.json by this project: Grafana lays it out so, and draws it otherwise.`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The dashboard of atwatch, with what one recorded run showed">`,
    `<style>${style}\n</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    text('row', 12, 20, title),
    text('quiet', 12, 37, origin),
    ...panels.map((panel) => drawPanel(panel, recording)),
    '</svg>\n',
  ].join('\n');
}

function lengthOf({ panels }: Recording): number {
  return Math.max(...Object.values(panels).flatMap((all) => all.map((series) => valuesOf(series).length)));
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

function drawPanel(panel: Panel, recording: Recording): string {
  const { x, y, w, h } = panel.gridPos;
  const box = { x: x * column + 4, y: head + y * row + 4, w: w * column - 8, h: h * row - 8 };
  const series = recording.panels[panel.id] ?? [];
  if (panel.type === 'row') return text('row', box.x + 4, box.y + 14, panel.title);
  return panel.type === 'stat' ? drawStat(panel, box, series) : drawGraph(panel, box, series);
}

function drawStat({ title, fieldConfig }: Panel, { x, y, w, h }: Box, [series]: readonly Series[]): string {
  const { unit = 'short', thresholds } = fieldConfig?.defaults ?? {};
  const last = series && valuesOf(series).findLast((value) => value !== undefined);
  const reached = thresholds?.steps.findLast(({ value }) => value === null || (last ?? 0) >= value);
  const fill = last === undefined ? '#8c959f' : levels[reached?.color ?? 'green'];
  const shown = last === undefined ? 'No data' : formatValue(last, unit);
  return [
    `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="3" fill="${fill}"/>`,
    text('onColor', x + 8, y + 18, title),
    `<text class="value" x="${x + w / 2}" y="${y + h / 2 + 18}" text-anchor="middle">${escapeText(shown)}</text>`,
  ].join('');
}

function drawGraph(panel: Panel, box: Box, series: readonly Series[]): string {
  const { unit = 'short', thresholds, custom } = panel.fieldConfig?.defaults ?? {};
  const all = series.map(valuesOf);
  const numbers = all.flat().filter((value) => value !== undefined);
  const frame = `<rect class="panel" x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}" rx="3"/>`;
  const title = text('title', box.x + 8, box.y + 18, panel.title);
  if (numbers.length === 0) {
    return [frame, title, text('quiet', box.x + box.w / 2 - 22, box.y + box.h / 2 + 4, 'No data')].join('');
  }
  const top = niceMaximum(Math.max(...numbers));
  const bottom = Math.min(...numbers) < 0 ? -niceMaximum(-Math.min(...numbers)) : 0;
  const plot = { x: box.x + 52, y: box.y + 30, w: box.w - 62, h: box.h - 58 };
  const yOf = (value: number) => round(plot.y + plot.h * (1 - (value - bottom) / (top - bottom)));
  const grid = [bottom, (bottom + top) / 2, top].map((value) =>
    [
      `<line class="grid" x1="${plot.x}" x2="${plot.x + plot.w}" y1="${yOf(value)}" y2="${yOf(value)}"/>`,
      `<text class="quiet" x="${plot.x - 5}" y="${yOf(value) + 4}" text-anchor="end">${escapeText(formatValue(value, unit))}</text>`,
    ].join(''),
  );
  const marks = custom?.thresholdsStyle ? (thresholds?.steps ?? []) : [];
  const dashed = marks.flatMap(({ value, color }) =>
    value === null || value > top
      ? []
      : `<line class="threshold" stroke="${levels[color]}" x1="${plot.x}" x2="${plot.x + plot.w}" y1="${yOf(value)}" y2="${yOf(value)}"/>`,
  );
  const lines = all.map((values, index) => {
    const xOf = (step: number) => round(plot.x + (plot.w * step) / Math.max(values.length - 1, 1));
    const path = pathOf(values, xOf, yOf);
    return `<path class="line" stroke="${colors[index % colors.length]}" d="${path}"/>`;
  });
  return [frame, title, ...grid, ...dashed, ...lines, drawLegend(box, series)].join('');
}

/** A gap where there is no value; a point alone is a short line. */
function pathOf(
  values: readonly (number | undefined)[],
  xOf: (step: number) => number,
  yOf: (value: number) => number,
): string {
  return values
    .map((value, step) => {
      if (value === undefined) return '';
      const move = step === 0 || values[step - 1] === undefined;
      return `${move ? 'M' : 'L'}${xOf(step)} ${yOf(value)}${move ? 'h.1' : ''}`;
    })
    .join('');
}

function drawLegend({ x, y, w, h }: Box, series: readonly Series[]): string {
  const entries: string[] = [];
  let left = x + 10;
  for (const [index, { name }] of series.entries()) {
    const length = 16 + name.length * 5.8;
    const rest = series.length - index;
    if (left + length > x + w - (rest > 1 ? 46 : 0)) {
      entries.push(text('quiet', left, y + h - 8, `+ ${rest} more`));
      break;
    }
    entries.push(
      `<rect x="${round(left)}" y="${y + h - 15}" width="10" height="3" fill="${colors[index % colors.length]}"/>`,
      text('quiet', round(left + 14), y + h - 8, name),
    );
    left += length + 10;
  }
  return entries.join('');
}

const round = (value: number) => Math.round(value * 10) / 10;

const text = (name: string, x: number, y: number, content: string) =>
  `<text class="${name}" x="${round(x)}" y="${round(y)}">${escapeText(content)}</text>`;

function escapeText(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
