/** The reference of the package: whole declarations, and no public one that names what is private. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { declarationOf, exportsIn } from '../../../hack/package/declared.ts';
import { publicNames, referencePage } from '../../../hack/package/reference.ts';

/** Handed on as they are: by loadKubeConfig to the Manager, and by the test kit, which has no sockets. */
const opaque = new Set(['KubeConfig', 'OpenConnection']);

suite('a declaration', () => {
  const rows = [
    {
      of: 'a union whose members have comments',
      text: "/** Either. */\nexport type A =\n/** One. */\n{\n    readonly a: '}';\n}\n/** Other. */\n | {\n    b: 1;\n};\nexport type B = 1;\n",
      code: "type A =\n/** One. */\n{\n    readonly a: '}';\n}\n/** Other. */\n | {\n    b: 1;\n};",
      doc: 'Either.',
    },
    {
      of: 'a class, without what is private',
      text: '/** Of {@link B}. */\nexport declare class A extends B {\n    #private;\n    /** Hidden. */\n    private readonly c;\n    /** As {@link B.d}. */\n    d(): void;\n}\n',
      code: 'class A extends B {\n    /** As B.d. */\n    d(): void;\n}',
      doc: 'Of {@link B}.',
    },
    {
      of: 'overloads',
      text: '/** Text. */\nexport declare function A(a: string): string;\n/** Number. */\nexport declare function A(a: number): number;\n',
      code: 'function A(a: string): string;\nfunction A(a: number): number;',
      doc: 'Text.\n\nNumber.',
    },
  ];
  for (const { of, text, code, doc } of rows) {
    test(`of ${of} is whole`, () => {
      const found = declarationOf(text, { name: 'A', isType: false });
      assert.deepEqual([found?.code, found?.doc], [code, doc]);
    });
  }

  test('of a class that is exported as a type has no constructor', () => {
    const text =
      'export declare class A {\n    constructor({ b, c, }: {\n        b: 1;\n    });\n    d: 1;\n}\n';
    assert.equal(declarationOf(text, { name: 'A', isType: true })?.code, 'class A {\n    d: 1;\n}');
  });

  test('is found by the statement that exports it', () => {
    const exported = exportsIn("export { a, type B } from './c.ts';\nexport type { D } from 'e';\n");
    assert.deepEqual(exported, [
      { name: 'a', isType: false, module: './c.ts' },
      { name: 'B', isType: true, module: './c.ts' },
      { name: 'D', isType: true, module: 'e' },
    ]);
  });
});

suite('the reference', () => {
  test('of the runtime names no type that is not public', async () => {
    const names = await publicNames();
    assert.ok(names.length > 200);
    const isPublic = new Set(names.map(({ source, name }) => `${source} ${name}`));
    const named = names
      .filter(({ entry, name }) => entry === '@atwatch/runtime' && !opaque.has(name))
      .flatMap(({ name, uses }) => uses.map((use) => ({ name, use })));
    assert.ok(named.length > 300);
    assert.deepEqual(
      named.filter(({ use }) => !isPublic.has(use)),
      [],
    );
  });

  test('links to headings of its own', async () => {
    const page = await referencePage();
    const headings = new Set(
      Array.from(
        page.matchAll(/^#### `(\w+) (\w+)`$/gm),
        ([, form, name = '']) => `${form}-${name.toLowerCase()}`,
      ),
    );
    const links = Array.from(page.matchAll(/\]\(#([^)]+)\)/g), ([, anchor = '']) => anchor);
    assert.ok(links.length >= headings.size && headings.size > 200);
    assert.deepEqual(
      links.filter((anchor) => !headings.has(anchor)),
      [],
    );
  });
});
