/**
 * HashKeyStore: the key under which hashes of Secrets are published. It is made once per installation and
 * kept in a Secret of the operator's namespace, so that an operator restart compares with the same key.
 *
 * A lost key loses no restart: hashes under another key are taken as a new baseline.
 */
import { createHash } from 'node:crypto';
import { type Secret, secrets } from '../../kubernetes/types/core.generated.ts';
import { isAlreadyExists } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Randomness } from '../../runtime/randomness.ts';
import type { HashKey } from '../plan/config-hash.ts';
import { ifFound, withRight } from './missing-right.ts';

const name = 'atwatch-hash-key';
const field = 'key';
const keyBytes = 32;

export class HashKeyStore {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #randomness: Randomness;
  #key: Promise<HashKey> | undefined;

  /** @param namespace the operator's own. */
  constructor(client: Client, namespace: string, randomness: Randomness) {
    this.#client = client;
    this.#namespace = namespace;
    this.#randomness = randomness;
  }

  /** The key, read or made at the first call; a failure is tried again at the next. */
  key(): Promise<HashKey> {
    this.#key ??= this.#readOrMake().catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  async #readOrMake(): Promise<HashKey> {
    const existing = await this.#read();
    if (existing) return keyOf(existing);
    try {
      return keyOf(
        await withRight('create', secrets.plural, this.#client.create(secrets, this.#newSecret())),
      );
    } catch (error) {
      // Another replica was first: its key is the one.
      const theirs = isAlreadyExists(error) ? await this.#read() : undefined;
      if (!theirs) throw error;
      return keyOf(theirs);
    }
  }

  #read(): Promise<Secret | undefined> {
    const get = this.#client.get(secrets, { namespace: this.#namespace, name });
    return ifFound(withRight('get', secrets.plural, get));
  }

  #newSecret(): Secret {
    return {
      metadata: { namespace: this.#namespace, name },
      type: 'Opaque',
      immutable: true,
      data: { [field]: this.#randomness.bytes(keyBytes).toString('base64') },
    };
  }
}

/** @throws {Error} for a Secret of that name that holds no key: it has another owner, or is damaged. */
function keyOf({ data }: Secret): HashKey {
  const secret = Buffer.from(data?.[field] ?? '', 'base64');
  if (secret.length < keyBytes) {
    throw new Error(
      `Secret ${name} holds no key of ${keyBytes} bytes; delete it, and the operator makes a new one`,
    );
  }
  // A digest of 256 random bits tells nothing about them.
  return { id: createHash('sha256').update(name).update(secret).digest('hex').slice(0, 8), secret };
}
