/**
 * DER: the few encodings of ASN.1 values that a certificate is made of (ITU-T X.690).
 */
const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
};

/** Tag, length, content. */
export function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) {
    return Buffer.from([length]);
  }
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export const sequence = (...contents: readonly Buffer[]) => tagged(tags.sequence, ...contents);
export const set = (...contents: readonly Buffer[]) => tagged(tags.set, ...contents);
export const octetString = (content: Buffer) => tagged(tags.octetString, content);
export const utf8String = (text: string) => tagged(tags.utf8String, Buffer.from(text));
export const boolean = (value: boolean) => tagged(0x01, Buffer.from([value ? 0xff : 0]));

/** A non-negative integer, big-endian; a leading zero keeps the sign bit clear. */
export function integer(bytes: Buffer): Buffer {
  return tagged(
    tags.integer,
    ((bytes[0] ?? 0) & 0x80) === 0 ? bytes : Buffer.concat([Buffer.from([0]), bytes]),
  );
}

/** Whole bytes, with the last `unusedBits` bits of no meaning. */
export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return tagged(tags.bitString, Buffer.from([unusedBits]), content);
}

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) {
    digits.unshift((left & 0x7f) | 0x80);
  }
  return digits;
}

/** An instant before 2050 (epoch milliseconds), in whole seconds: that is what UTCTime can hold. */
export function utcTime(instant: number): Buffer {
  const text = new Date(instant).toISOString().replace(/\.\d+Z$/, 'Z');
  return tagged(tags.utcTime, Buffer.from(text.slice(2).replace(/[-:T]/g, '')));
}
