/** The names of a new operator: how they follow from a folder, and how they are put into the template. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { kindOf, namesOf, renamed } from '../../src/scaffold/new-operator.ts';

suite('a new operator', () => {
  test('gets its kind from its folder', () => {
    const kinds = ['notes', 'blog-posts', 'note-operator', 'policies', 'glass', 'pod_sets'].map(kindOf);
    assert.deepEqual(kinds, ['Note', 'BlogPost', 'Note', 'Policy', 'Glass', 'PodSet']);
  });

  test('gets its plural from its kind', () => {
    const plurals = ['Note', 'Policy', 'Gateway', 'Ingress', 'Box', 'BlogPost'].map(
      (kind) => namesOf(kind, 'example.com').plural,
    );
    assert.deepEqual(plurals, ['notes', 'policies', 'gateways', 'ingresses', 'boxes', 'blogposts']);
  });

  test('refuses names that Kubernetes would refuse', () => {
    assert.throws(() => namesOf('note', 'example.com'), /"note" cannot be a kind/);
    assert.throws(() => namesOf('3D', 'example.com'), /cannot be a kind/);
    assert.throws(() => namesOf('Note', 'example'), /"example" cannot be an API group/);
    assert.throws(() => namesOf('Note', 'Example.com'), /cannot be an API group/);
  });

  test('has them as TypeScript writes them in code, and as Kubernetes does elsewhere', () => {
    const names = namesOf('BlogPolicy', 'cms.example.org');
    const code =
      "import { type Note, notes } from './types.ts';\nconst note = get(notes, 'notes.example.com'); // notes-operator";
    assert.equal(
      renamed(code, names),
      "import { type BlogPolicy, blogPolicies } from './types.ts';\nconst blogPolicy = get(blogPolicies, 'blogpolicies.cms.example.org'); // blogpolicies-operator",
    );
    const yaml = 'kind: Note, listKind: NoteList, plural: notes, singular: note, name: notes.example.com';
    assert.equal(
      renamed(yaml, names),
      'kind: BlogPolicy, listKind: BlogPolicyList, plural: blogpolicies, singular: blogpolicy, name: blogpolicies.cms.example.org',
    );
    assert.equal(renamed(yaml, namesOf('Note', 'example.com')), yaml);
  });
});
