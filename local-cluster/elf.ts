/**
 * ELF: just enough of Linux' program format to tell whether a program needs libraries.
 */
const programHeaderInterpreter = 3;

/** Whether this is a 64-bit little-endian Linux program that names no dynamic loader. */
export function isStatic(program: Buffer): boolean {
  if (
    program.length < 64 ||
    program.readUInt32BE(0) !== 0x7f_45_4c_46 ||
    program[4] !== 2 ||
    program[5] !== 1
  ) {
    return false;
  }
  const table = Number(program.readBigUInt64LE(32));
  const size = program.readUInt16LE(54);
  const count = program.readUInt16LE(56);
  return Array.from({ length: count }, (_, index) => program.readUInt32LE(table + index * size)).every(
    (type) => type !== programHeaderInterpreter,
  );
}
