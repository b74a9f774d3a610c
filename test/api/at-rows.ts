/**
 * Specs of At with the verdict each must get, from the API server (test/integration) and from our own
 * validation (test/api) alike.
 */

/** One spec and its verdict. */
export interface Row {
  /** What is special about it. */
  readonly it: string;
  /** Merged over the base; undefined takes a field away. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Where it is refused and what the API server says; absent when it is accepted. */
  readonly refused?: { readonly field: string; readonly says: string };
}

export const baseAtSpec = { schedule: '2030-01-31T09:00:00Z', command: 'echo YAY' };

const grammar = { field: 'spec.schedule', says: 'must be an RFC 3339 timestamp such as' };
const calendar = { field: 'spec.schedule', says: 'names a day that does not exist in the calendar' };
const years = { field: 'spec.schedule', says: 'must lie in the years 0001 to 9999' };

const schedules: readonly Row[] = [
  ...[
    '2019-04-12T10:12:00Z',
    '2030-01-31T09:00:00.1Z',
    '2030-01-31T09:00:00.123456789Z',
    '2030-01-31T00:00:00+23:59',
    '2030-01-31T23:59:59-23:59',
    '2028-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '0001-01-01T01:00:00+01:00',
    '0001-01-01T00:00:00-01:00',
    '9999-12-31T23:59:59.999999999Z',
    '9999-12-31T22:59:59-01:00',
    '9999-12-31T23:59:59+01:00',
  ].map((schedule) => ({ it: `takes ${schedule}`, spec: { schedule } })),
  ...[
    '',
    'soon',
    '5',
    '2030-01-31',
    '2030-01-31T09:00Z',
    '2030-01-31t09:00:00Z',
    '2030-01-31T09:00:00z',
    '2030-01-31 09:00:00Z',
    ' 2030-01-31T09:00:00Z',
    '2030-01-31T09:00:00Z ',
    '2030-01-31T09:00:00Z\n',
    '2030-01-31T09:00:00,5Z',
    '2030-01-31T09:00:00.Z',
    '2030-01-31T09:00:00.1234567890Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31T09:60:00Z',
    '2016-12-31T23:59:60Z',
    '2030-01-31T09:00:00+24:00',
    '2030-01-31T09:00:00+01:60',
    '2030-01-31T09:00:00+0100',
    '2030-01-31T09:00:00+1:00',
    '2030-01-31T09:00:00−01:00',
    '10000-01-01T00:00:00Z',
    '-001-01-01T00:00:00Z',
    '\u202e2030-01-31T09:00:00Z',
    '２０３０-01-31T09:00:00Z',
  ].map((schedule) => ({ it: `refuses ${JSON.stringify(schedule)}`, spec: { schedule }, refused: grammar })),
  ...[
    '2030-02-30T00:00:00Z',
    '2030-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2030-04-31T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-00-01T00:00:00Z',
    '2030-01-32T00:00:00Z',
    '2030-01-00T00:00:00Z',
  ].map((schedule) => ({ it: `refuses ${schedule}`, spec: { schedule }, refused: calendar })),
  ...[
    '0000-01-01T00:00:00Z',
    '0000-12-31T23:59:59-23:59',
    '0001-01-01T00:59:59+01:00',
    '9999-12-31T23:00:00-01:00',
    '9999-12-31T23:59:59.5-00:01',
  ].map((schedule) => ({ it: `refuses ${schedule}`, spec: { schedule }, refused: years })),
  {
    it: 'refuses a number as schedule',
    spec: { schedule: 1_900_000_000 },
    refused: { field: 'spec.schedule', says: 'must be of type string' },
  },
  {
    it: 'refuses an absent schedule',
    spec: { schedule: undefined },
    refused: { field: 'spec.schedule', says: 'Required value' },
  },
  {
    it: 'refuses a schedule of 65 characters',
    spec: { schedule: '2'.repeat(65) },
    refused: { field: 'spec.schedule', says: 'Too long' },
  },
];

const zones: readonly Row[] = [
  {
    it: 'takes a local time with a time zone',
    spec: { schedule: '2030-01-31T09:00:00', timeZone: 'Europe/Berlin' },
  },
  ...['UTC', 'Etc/GMT+12', 'America/Argentina/Buenos_Aires', 'Asia/Ust-Nera'].map((timeZone) => ({
    it: `takes the time zone ${timeZone}`,
    spec: { schedule: '2030-01-31T09:00:00', timeZone },
  })),
  ...['Atlantis', 'Local', '+02:00', '02:00', 'Europe/Berlin ', '../../etc/passwd', 'Z\n'].map(
    (timeZone) => ({
      it: `refuses the time zone ${JSON.stringify(timeZone)}`,
      spec: { schedule: '2030-01-31T09:00:00', timeZone },
      refused: {
        field: 'spec.timeZone',
        says: 'must be the name of an IANA time zone such as Europe/Berlin',
      },
    }),
  ),
  {
    it: 'refuses a local time without a time zone',
    spec: { schedule: '2030-01-31T09:00:00' },
    refused: { field: 'spec.schedule', says: 'has no UTC offset: append Z or an offset such as +02:00' },
  },
  {
    it: 'refuses a local time with a fraction without a time zone',
    spec: { schedule: '2030-01-31T09:00:00.25' },
    refused: { field: 'spec.schedule', says: 'has no UTC offset' },
  },
  {
    it: 'refuses a time zone beside Z',
    spec: { timeZone: 'Europe/Berlin' },
    refused: { field: 'spec.timeZone', says: 'must not be set when schedule has a UTC offset' },
  },
  {
    it: 'refuses a time zone beside an offset',
    spec: { schedule: '2030-01-31T09:00:00-05:00', timeZone: 'America/New_York' },
    refused: { field: 'spec.timeZone', says: 'must not be set when schedule has a UTC offset' },
  },
  {
    it: 'refuses an impossible local day',
    spec: { schedule: '2030-02-30T09:00:00', timeZone: 'Europe/Berlin' },
    refused: calendar,
  },
  {
    it: 'refuses an empty time zone',
    spec: { schedule: '2030-01-31T09:00:00', timeZone: '' },
    refused: { field: 'spec.timeZone', says: 'at least 1 chars long' },
  },
  {
    it: 'refuses a time zone of 65 characters',
    spec: { schedule: '2030-01-31T09:00:00', timeZone: 'Z'.repeat(65) },
    refused: { field: 'spec.timeZone', says: 'Too long' },
  },
];

const commands: readonly Row[] = [
  { it: 'takes argv', spec: { command: undefined, argv: ['echo', '', '$(HOME) $$ "quoted"'] } },
  { it: 'takes command with a shell', spec: { command: 'date && echo YAY', shell: '/bin/sh' } },
  {
    it: 'takes a template with a container alone',
    spec: { command: undefined, template: { spec: { containers: [{ image: 'busybox' }] } } },
  },
  {
    it: 'takes a template without a container beside a command',
    spec: { template: { metadata: { labels: { a: 'b' } }, spec: { hostname: 'x' } } },
  },
  ...[{}, { spec: {} }, { spec: { containers: [] } }].map((template) => ({
    it: `refuses the template ${JSON.stringify(template)} alone`,
    spec: { command: undefined, template },
    refused: { field: 'spec', says: 'nothing to run: set command, argv, or a template with a container' },
  })),
  {
    it: 'takes restartPolicy Never with a hard limit of one start',
    spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never' } } },
  },
  { it: 'takes restartPolicy OnFailure', spec: { template: { spec: { restartPolicy: 'OnFailure' } } } },
  {
    it: 'refuses restartPolicy Never with the default backoffLimit',
    spec: { template: { spec: { restartPolicy: 'Never' } } },
    refused: { field: 'spec.template.spec.restartPolicy', says: 'Never starts the command once and needs' },
  },
  {
    it: 'refuses restartPolicy Always',
    spec: { template: { spec: { restartPolicy: 'Always' } } },
    refused: { field: 'spec.template.spec.restartPolicy', says: 'must not be Always' },
  },
  {
    it: 'refuses a blank command',
    spec: { command: ' \t\n' },
    refused: { field: 'spec.command', says: 'must name a program' },
  },
  ...['', ' '].map((word) => ({
    it: `refuses ${JSON.stringify(word)} as the first word`,
    spec: { command: undefined, argv: [word, 'x'] },
    refused: { field: 'spec.argv', says: 'must begin with the name of a program' },
  })),
  { it: 'takes a command of 32768 characters', spec: { command: 'x'.repeat(32_768) } },
  {
    it: 'refuses nothing to run',
    spec: { command: undefined },
    refused: { field: 'spec', says: 'nothing to run: set command, argv, or a template with a container' },
  },
  {
    it: 'refuses an image alone',
    spec: { command: undefined, image: 'busybox' },
    refused: { field: 'spec', says: 'nothing to run' },
  },
  {
    it: 'refuses command and argv together',
    spec: { argv: ['echo', 'YAY'] },
    refused: { field: 'spec.argv', says: 'must not be set together with command' },
  },
  {
    it: 'refuses argv and shell together',
    spec: { command: undefined, argv: ['echo'], shell: '/bin/sh' },
    refused: { field: 'spec.argv', says: 'must not be set together with shell' },
  },
  {
    it: 'refuses a shell without a command',
    spec: { command: undefined, template: { spec: { containers: [{}] } }, shell: '/bin/sh' },
    refused: { field: 'spec.shell', says: 'needs command' },
  },
  {
    it: 'refuses a shell without a path',
    spec: { shell: 'sh' },
    refused: { field: 'spec.shell', says: 'must be an absolute path such as /bin/sh' },
  },
  {
    it: 'refuses an empty command',
    spec: { command: '' },
    refused: { field: 'spec.command', says: 'at least 1 chars long' },
  },
  {
    it: 'refuses a command of 32769 characters',
    spec: { command: 'x'.repeat(32_769) },
    refused: { field: 'spec.command', says: 'Too long' },
  },
  {
    it: 'refuses an empty argv',
    spec: { command: undefined, argv: [] },
    refused: { field: 'spec.argv', says: 'at least 1 items' },
  },
  { it: 'takes 256 words', spec: { command: undefined, argv: new Array(256).fill('x') } },
  {
    it: 'refuses 257 words',
    spec: { command: undefined, argv: new Array(257).fill('x') },
    refused: { field: 'spec.argv', says: 'Too many' },
  },
  {
    it: 'refuses an empty image',
    spec: { image: '' },
    refused: { field: 'spec.image', says: 'at least 1 chars long' },
  },
  {
    it: 'refuses a template that is no object',
    spec: { template: 'busybox' },
    refused: { field: 'spec.template', says: 'must be of type object' },
  },
];

const limits: readonly Row[] = [
  { it: 'takes a starting deadline of a second', spec: { startingDeadlineSeconds: 1 } },
  { it: 'takes no pending timeout', spec: { pendingTimeoutSeconds: 0 } },
  { it: 'takes a ttl of zero', spec: { ttlSecondsAfterFinished: 0 } },
  ...['activeDeadlineSeconds', 'pendingTimeoutSeconds'].map((field) => ({
    it: `takes ${field}: 1000000000`,
    spec: { [field]: 1_000_000_000 },
  })),
  { it: 'takes backoffLimit: 100', spec: { backoffLimit: 100 } },
  {
    it: 'takes ExactlyOnce with Retry',
    spec: { launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' },
  },
  { it: 'takes the deprecated AtMostOnce', spec: { launchGuarantee: 'AtMostOnce' } },
  ...[
    { field: 'startingDeadlineSeconds', value: 0, says: 'greater than or equal to 1' },
    { field: 'activeDeadlineSeconds', value: 0, says: 'greater than or equal to 1' },
    { field: 'activeDeadlineSeconds', value: 1_000_000_001, says: 'less than or equal to 1000000000' },
    { field: 'pendingTimeoutSeconds', value: -1, says: 'greater than or equal to 0' },
    { field: 'pendingTimeoutSeconds', value: 1_000_000_001, says: 'less than or equal to 1000000000' },
    { field: 'backoffLimit', value: -1, says: 'greater than or equal to 0' },
    { field: 'backoffLimit', value: 101, says: 'less than or equal to 100' },
    { field: 'ttlSecondsAfterFinished', value: -1, says: 'greater than or equal to 0' },
    { field: 'ttlSecondsAfterFinished', value: 1.5, says: 'must be of type integer' },
    ...['suspend', 'cancel', 'outputInStatus'].map((field) => ({
      field,
      value: 'yes',
      says: 'must be of type boolean',
    })),
    { field: 'disruptionPolicy', value: 'Maybe', says: 'supported values: "Fail", "Retry"' },
    {
      field: 'launchGuarantee',
      value: 'Once',
      says: 'supported values: "AtLeastOnce", "ExactlyOnce", "AtMostOnce"',
    },
  ].map(({ field, value, says }) => ({
    it: `refuses ${field}: ${value}`,
    spec: { [field]: value },
    refused: { field: `spec.${field}`, says },
  })),
];

export const atRows: readonly Row[] = [...schedules, ...zones, ...commands, ...limits];
