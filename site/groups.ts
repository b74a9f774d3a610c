/** The site's table of contents. Paths are those of the repository. */

export interface Group {
  readonly title: string;
  readonly pages: readonly string[];
}

export const groups: readonly Group[] = [
  {
    title: 'Begin',
    pages: [
      'README.md',
      'docs/quick-start.md',
      'docs/cookbook.md',
      'docs/choosing.md',
      'docs/pods.md',
      'docs/faq.md',
      'docs/books.md',
    ],
  },
  { title: 'Reference', pages: ['docs/kubectl.md', 'docs/api.md', 'docs/versions.md', 'CHANGELOG.md'] },
  {
    title: 'Operate',
    pages: [
      'docs/operations.md',
      'charts/atwatch/README.md',
      'docs/runbooks.md',
      'docs/failure-modes.md',
      'headlamp/README.md',
    ],
  },
  {
    title: 'Trust',
    pages: ['docs/security.md', 'docs/threat-model.md', 'docs/verify.md', 'SECURITY.md'],
  },
  {
    title: 'Move here',
    pages: [
      'docs/migrate/reloader.md',
      'docs/migrate/wave.md',
      'docs/migrate/cronjob.md',
      'docs/migrate/at.md',
    ],
  },
  {
    title: 'Figures',
    pages: ['docs/benchmarks.md', 'docs/benchmarks/history.md'],
  },
  {
    title: 'Operators of your own',
    pages: [
      'docs/runtime.md',
      'docs/runtime-reference.md',
      'examples/blogpost/README.md',
      'examples/crontab/README.md',
      'examples/database/README.md',
      'examples/notes/README.md',
      'examples/podset/README.md',
      'examples/tunnel/README.md',
    ],
  },
  {
    title: 'Contribute',
    pages: [
      'CONTRIBUTING.md',
      'docs/architecture.md',
      'local-cluster/README.md',
      'docs/decisions/0001-own-transport.md',
      'docs/decisions/0002-the-name-is-the-lock.md',
      'docs/decisions/0003-kubernetes-from-go-modules.md',
      'docs/decisions/0004-edits-after-the-pod.md',
      'docs/decisions/0005-libraries-of-the-local-cluster.md',
      'docs/decisions/0006-exactly-once.md',
    ],
  },
];
