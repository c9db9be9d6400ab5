import { DAY, duration, int, type Setting } from './setting.ts';

const model = (what: string, otherEnv: string) =>
  ({
    kind: { type: 'string', maxLength: 200 },
    default: null,
    commands: ['runner'],
    value: 'MODEL',
    otherEnv,
    doc: `${what}, as the service names it.`,
  }) as const;

const variant = (of: string, otherEnv: string) =>
  ({
    kind: { type: 'string', maxLength: 100 },
    default: null,
    commands: ['runner'],
    value: 'NAME',
    otherEnv,
    doc: `Variant of the model ${of}, such as \`high\`; by default the model as it is.`,
  }) as const;

/** What a runner is told about agent runs; part of the one table. */
export const AGENT_SETTINGS = {
  'agent-url': {
    kind: { type: 'web-url' },
    default: null,
    commands: ['runner'],
    value: 'URL',
    doc: 'Base URL of an OpenAI-compatible service of language models, such as https://models.example/v1. With it this runner does agent runs (`/agent plan`, `implement`, `fix`); without it, none, whatever else is set for agents.',
  },
  'agent-key-file': {
    kind: { type: 'path' },
    default: null,
    commands: ['runner'],
    value: 'FILE',
    doc: "File with that service's key and nothing else. The runner adds the key to what goes to the service; neither the agent nor its server is given it. By default none is sent.",
  },
  'agent-explore-model': model(
    'Model for a first look at the repository; by default there is none',
    'AGENTCI_EXPLORE_MODEL',
  ),
  'agent-explore-variant': variant('for the first look', 'AGENTCI_EXPLORE_VARIANT'),
  'agent-plan-model': model(
    'Model that drafts plans and reviews; needed with --agent-url',
    'AGENTCI_PLAN_MODEL',
  ),
  'agent-plan-variant': variant('that drafts and reviews', 'AGENTCI_PLAN_VARIANT'),
  'agent-build-model': model('Model that writes changes; needed with --agent-url', 'AGENTCI_BUILD_MODEL'),
  'agent-build-variant': variant('that writes changes', 'AGENTCI_BUILD_VARIANT'),
  'plan-review-rounds': {
    kind: int(1, 20),
    default: '4',
    commands: ['runner'],
    value: 'N',
    otherEnv: 'AGENTCI_PLAN_REVIEW_ROUNDS',
    doc: 'Most rounds of draft and review of a plan.',
  },
  'implement-review-rounds': {
    kind: int(1, 20),
    default: '3',
    commands: ['runner'],
    value: 'N',
    otherEnv: 'AGENTCI_IMPLEMENT_REVIEW_ROUNDS',
    doc: 'Most rounds of work and review of an implementation.',
  },
  'turn-timeout': {
    kind: duration(60_000, DAY),
    default: '3600s',
    commands: ['runner'],
    value: 'TIME',
    otherEnv: 'AGENTCI_TURN_TIMEOUT_SECONDS',
    doc: "How long one turn of an agent may take: from a prompt to the end of its answer, its tools' work included.",
  },
  'install-scripts': {
    kind: { type: 'list', separator: ',', maxItems: 20, maxLength: 100 },
    default: '',
    commands: ['runner'],
    value: 'NAME,...',
    otherEnv: 'AGENTCI_INSTALL_SCRIPTS',
    doc: "Scripts that install an agent's tools before its first turn, in this order: `python`, `node`, `dotnet`, or files of --install-scripts-dir.",
  },
  'install-script-timeout': {
    kind: duration(1_000, DAY),
    default: '900s',
    commands: ['runner'],
    value: 'TIME',
    otherEnv: 'AGENTCI_INSTALL_SCRIPT_TIMEOUT_SECONDS',
    doc: 'How long one install script may take.',
  },
  'install-scripts-dir': {
    kind: { type: 'path' },
    default: null,
    commands: ['runner'],
    value: 'DIR',
    otherEnv: 'AGENTCI_INSTALL_SCRIPTS_DIR',
    doc: 'Directory with install scripts of your own; one that is named as a built-in script replaces it.',
  },
  'python-version': {
    kind: { type: 'version' },
    default: '3.13',
    commands: ['runner'],
    value: 'VERSION',
    otherEnv: 'AGENTCI_PYTHON_VERSION',
    doc: 'Which Python the install script `python` installs.',
  },
  'dotnet-channel': {
    kind: { type: 'version' },
    default: 'LTS',
    commands: ['runner'],
    value: 'CHANNEL',
    otherEnv: 'AGENTCI_DOTNET_CHANNEL',
    doc: 'Which .NET SDK the install script `dotnet` installs: `LTS`, `STS` or a version such as `8.0`.',
  },
  'bot-name': {
    kind: { type: 'signature', maxLength: 100 },
    default: 'vole',
    commands: ['runner'],
    value: 'NAME',
    otherEnv: 'AGENTCI_BOT_NAME',
    doc: "Author of an agent's commits.",
  },
  'bot-email': {
    kind: { type: 'signature', maxLength: 200 },
    default: 'vole@localhost',
    commands: ['runner'],
    value: 'ADDRESS',
    otherEnv: 'AGENTCI_BOT_EMAIL',
    doc: 'Mail address of that author.',
  },
  'context7-api-key-file': {
    kind: { type: 'path' },
    default: null,
    commands: ['runner'],
    value: 'FILE',
    doc: "File with a key of Context7, for the agent's documentation tool. The agent's server is given this key, so the agent can read it. By default the agent goes without that tool.",
  },
  'context7-api-key': {
    kind: { type: 'string', maxLength: 500 },
    default: null,
    commands: ['runner'],
    secret: true,
    otherEnv: 'AGENTCI_CONTEXT7_API_KEY',
    doc: 'That key itself, where no file is named.',
  },
} as const satisfies Record<string, Setting>;
