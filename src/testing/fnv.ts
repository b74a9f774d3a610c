/** FNV-1a, 32 bits. @param basis another one gives another hash of the same text */
export function fnv32a(text: string, basis = 0x81_1c_9d_c5): number {
  let hash = basis;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01_00_01_93);
  return hash >>> 0;
}
