/**
 * TraceHash: 64 bits over everything that happened in a run, in its order. Two runs with the same hash went the
 * same way.
 */
export class TraceHash {
  #high = 0x9e_37_79_b9 | 0;
  #low = 0x81_1c_9d_c5 | 0;

  addText(text: string): void {
    let high = this.#high ^ text.length;
    let low = this.#low;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      low = Math.imul(low ^ code, 0x01_00_01_93);
      high = Math.imul(high ^ code ^ (low >>> 15), 0x85_eb_ca_6b);
    }
    this.#high = high;
    this.#low = low;
  }

  /** @param value finite; a millionth is the least difference that counts. */
  addNumber(value: number): void {
    const whole = Math.floor(value);
    const rest = Math.floor((value - whole) * 1e6);
    this.#low = Math.imul(this.#low ^ (whole | 0), 0x01_00_01_93) ^ rest;
    this.#high =
      Math.imul(this.#high ^ Math.floor(whole / 2 ** 32) ^ (this.#low >>> 13), 0x85_eb_ca_6b) ^ rest;
  }

  /** 16 hexadecimal digits. */
  get text(): string {
    return digits(mixed(this.#high ^ mixed(this.#low))) + digits(mixed(this.#low));
  }
}

function mixed(bits: number): number {
  let value = Math.imul(bits ^ (bits >>> 16), 0x85_eb_ca_6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2_b2_ae_35);
  return value ^ (value >>> 16);
}

function digits(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, '0');
}
