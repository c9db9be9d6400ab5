/** A model as the model's service names it, and which of its variants. */
export interface ModelChoice {
  readonly model: string;
  /** Such as `high`; null takes the model as it is. */
  readonly variant: string | null;
}

/** How a runner does agent runs, as the worker threads are told it: nothing in it is secret. */
export interface AgentOptions {
  readonly models: {
    /** For a first look at the repository; null goes without one. */
    readonly explore: ModelChoice | null;
    /** Drafts plans and reviews. */
    readonly plan: ModelChoice;
    readonly build: ModelChoice;
  };
  /** Most rounds of draft and review, at least 1. */
  readonly planReviewRounds: number;
  readonly implementReviewRounds: number;
  readonly turnTimeoutMs: number;
  /** Names, in the order in which they run. */
  readonly installScripts: readonly string[];
  readonly installScriptTimeoutMs: number;
  /** Where scripts that are not built in are; null: there are none. */
  readonly installScriptsDir: string | null;
  readonly pythonVersion: string;
  readonly dotnetChannel: string;
  /** Author of the commits. */
  readonly botName: string;
  readonly botEmail: string;
}

/** What the main thread alone is told beside. */
export interface AgentService {
  /** Base URL of an OpenAI-compatible service, such as `https://host/v1`. */
  readonly url: string;
  /** Its key, or null where it takes none. */
  readonly key: string | null;
  /** For the documentation tool; given to the agent's server. Null goes without that tool. */
  readonly context7Key: string | null;
}
