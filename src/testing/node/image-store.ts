/** Image store of a node: which images there are in the world, and which of them it has pulled. */
import { delayWithin, type RandomSource } from '../cluster-ports.ts';
import type { Container } from '../objects.ts';

export interface ImageOptions {
  readonly random: RandomSource;
  /** Whether a registry has it. */
  readonly exists: (image: string) => boolean;
  /** Whether it runs as root unless the Pod says otherwise. */
  readonly runsAsRoot?: (image: string) => boolean;
  /** How long a pull takes, in ms. */
  readonly pull?: readonly [number, number];
}

export type Pull =
  | { readonly kind: 'invalid' }
  | { readonly kind: 'pulled'; readonly delay: number }
  | { readonly kind: 'missing'; readonly delay: number };

const reference = /^[a-z0-9]+([._/:-][a-z0-9]+|__[a-z0-9]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;

export class ImageStore {
  readonly #options: ImageOptions;
  readonly #present = new Set<string>();

  constructor(options: ImageOptions) {
    this.#options = options;
  }

  /** Begins to pull the image of a container. */
  pull({ image = '', imagePullPolicy }: Container): Pull {
    if (!reference.test(image)) return { kind: 'invalid' };
    const policy = imagePullPolicy ?? (/:(?!latest$)[^/]+$/.test(image) ? 'IfNotPresent' : 'Always');
    if (this.#present.has(image) && policy !== 'Always') return { kind: 'pulled', delay: 0 };
    const { random, exists, pull = [100, 1500] } = this.#options;
    const delay = delayWithin(random, pull);
    if (!exists(image)) return { kind: 'missing', delay };
    const isPresent = this.#present.has(image);
    this.#present.add(image);
    // Of an image that it has only the digest is asked for.
    return { kind: 'pulled', delay: isPresent ? Math.ceil(delay / 10) : delay };
  }

  runsAsRoot(image: string): boolean {
    return this.#options.runsAsRoot?.(image) ?? false;
  }

  idOf(image: string): string {
    return `sha256:${image}`;
  }
}
