/**
 * Random: the only source of chance in a simulation. The same seed gives the same numbers on every machine,
 * and each user of it forks one of its own, so that one more draw in one place shifts no other's.
 */

/**
 * Chance that follows from a seed: sfc32 (Chris Doty-Humphrey's Small Fast Counter), seeded by a hash of a
 * text.
 */
export class Random {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    this.#a = hash(seed, 0x9e_37_79_b9);
    this.#b = hash(seed, 0x24_3f_6a_88);
    this.#c = hash(seed, 0xb7_e1_51_62);
    // The state needs some rounds until every bit of the seed has reached every number.
    for (let round = 0; round < 12; round++) this.bits();
  }

  /** 32 random bits as an integer from 0 to 2³²−1. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number from 0 up to, but not including, 1. */
  next(): number {
    return this.bits() / 2 ** 32;
  }

  /** An integer from 0 to `below` − 1. */
  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** True with the given probability, 0 to 1. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the items. @throws RangeError for an empty list. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('nothing to pick from');
    return items[this.integer(items.length)] as T;
  }

  /** Another generator, told by the label. It depends on the seed and the label alone, not on earlier draws. */
  fork(label: string): Random {
    return new Random(`${this.#seed}/${label}`);
  }

  /** A UUID in the form of version 4. */
  uuid(): string {
    const first = octets(this.bits());
    const versioned = octets((this.bits() & 0xff_ff_0f_ff) | 0x40_00);
    const variant = octets((this.bits() & 0x3f_ff_ff_ff) | 0x80_00_00_00);
    const last = octets(this.bits());
    const middle = `${versioned.slice(0, 4)}-${versioned.slice(4)}-${variant.slice(0, 4)}`;
    return `${first}-${middle}-${variant.slice(4)}${last}`;
  }
}

const octetTexts = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));

/** 32 bits as eight hexadecimal digits. */
function octets(bits: number): string {
  const text = (shift: number) => octetTexts[(bits >>> shift) & 0xff] as string;
  return text(24) + text(16) + text(8) + text(0);
}

/** FNV-1a with a final mix, 32 bits. */
function hash(text: string, basis: number): number {
  let value = basis ^ 0x81_1c_9d_c5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01_00_01_93);
  value = Math.imul(value ^ (value >>> 16), 0x85_eb_ca_6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2_b2_ae_35);
  return (value ^ (value >>> 16)) | 0;
}
