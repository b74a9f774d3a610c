/** Literals: values as JavaScript, in the project's style. */

const lineWidth = 110;

/** A JavaScript literal, indented, on one line where it fits. */
export function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') {
    return quoted(value);
  }
  if (typeof value !== 'object' || value === null) {
    return String(value);
  }
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const entries = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([key, item]) => `${propertyName(key)}: ${literal(item, inner)}`);
  if (entries.length === 0) {
    return open + close;
  }
  const pad = Array.isArray(value) ? '' : ' ';
  const oneLine = `${open}${pad}${entries.join(', ')}${pad}${close}`;
  if (!oneLine.includes('\n') && indent.length + oneLine.length <= lineWidth - 30) {
    return oneLine;
  }
  return `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

/** As it stands before a colon. */
export function propertyName(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

/** A string in quotes. */
export function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`).replaceAll('\n', '\\n');
  return quote + escaped + quote;
}
