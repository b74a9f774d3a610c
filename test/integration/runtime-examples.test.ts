/**
 * The examples as their readers have them: each copied into an empty folder, with the packed `@atwatch/runtime`
 * installed, in the simulated cluster and on a real API server.
 */
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { command, copyExample, RuntimePackage, runAsInImage } from './runtime-package.ts';

/** What each prints at the end of its demonstration. */
const examples = {
  database: /Ready: Progressing\nReady: Available\nLeft after the Database is deleted: nothing/,
  blogpost: /Phase: Published/,
  podset: /Replicas: 5/,
  tunnel: /Address: 192\.0\.2\.1\nDeployments: 1\nMachines after the Service is deleted: 0/,
};

suite('the examples on the packed runtime', () => {
  let runtime: RuntimePackage;
  before(async () => {
    runtime = await RuntimePackage.pack();
  });
  after(() => runtime.remove());

  for (const [name, shown] of Object.entries(examples)) {
    test(name, async () => {
      const cwd = join(runtime.folder, name);
      await mkdir(cwd);
      await copyExample(name, cwd);
      await runtime.install(cwd);
      // Tunnel is about a kind of Kubernetes itself, so nothing is generated.
      if (name !== 'tunnel') {
        const generated = await readFile(join(cwd, 'types.generated.ts'), 'utf8');
        await command('npm', ['run', '--silent', 'generate'], { cwd });
        assert.equal(await readFile(join(cwd, 'types.generated.ts'), 'utf8'), generated);
      }
      assert.match(await command('npm', ['test'], { cwd }), /fail 0/);
      assert.match(await command('make', ['demo'], { cwd }), shown);
      await command('npm', ['run', 'build'], { cwd });
      await assert.rejects(runAsInImage(cwd), /nowhere\) names no file that exists/);
    });
  }
});
