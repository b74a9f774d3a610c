/** What the API server says about objects, through kubectl as a person would see it. */
import { kubectl } from '../e2e/kubectl.ts';
import { applyCrds, eventually } from './support.ts';

/** Installs the CRDs and resolves once kubectl can use and explain both kinds. */
export async function installCrds(): Promise<void> {
  await applyCrds();
  // Discovery and OpenAPI follow a new CRD after a moment.
  for (const kind of ['ats', 'configwatchers']) {
    await eventually(() => kubectl(['explain', `${kind}.spec`]), {
      timeout: 30_000,
      interval: 200,
      message: `${kind} can be explained`,
    });
  }
}

/** What kubectl says when it fails; fails itself when kubectl succeeds. */
export async function refusal(args: readonly string[], input?: string | object): Promise<string> {
  const text = typeof input === 'object' ? JSON.stringify(input) : input;
  try {
    await kubectl(args, text);
  } catch (error) {
    return (error as Error).message.replace(/^kubectl .*?: (?=The |Error|error)/s, '');
  }
  throw new Error(`kubectl ${args.join(' ')} was expected to fail`);
}

/**
 * Offers the objects to the API server in one dry run.
 *
 * @returns by name, what it says about each refused object.
 */
export async function refusals(objects: readonly object[]): Promise<ReadonlyMap<string, string>> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  // Of a list kubectl itself checks the types, and would send none of it for one wrong type.
  const args = ['create', '--dry-run=server', '--validate=false', '--filename=-'];
  const output = await kubectl(args, list).catch((error: Error) => error.message);
  return new Map(
    output.split('\n').flatMap((line) => {
      const name = /Error from server \(Invalid\): .*? "([^"]*)" is invalid: /.exec(line)?.[1];
      return name === undefined ? [] : [[name, line]];
    }),
  );
}
