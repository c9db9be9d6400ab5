import type { ApiRunDetail } from '../../shared/api.ts';
import type { RunState } from '../../shared/outcome.ts';
import type { CliContext } from '../context.ts';
import type { ApiClient } from './api-client.ts';
import { WaitNotices } from './wait-notices.ts';

const LOOK_MS = 500;

/** Says why a followed run does not begin, for as long as it has not. */
export class FollowedWait {
  readonly #notices: WaitNotices;
  readonly #run: ApiRunDetail;
  readonly #timer: NodeJS.Timeout;
  #state: RunState;

  constructor(client: ApiClient, run: ApiRunDetail, context: CliContext) {
    this.#notices = new WaitNotices(client, (line) => context.stderr(line));
    this.#run = run;
    this.#state = run.state;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  runIs(state: RunState): void {
    this.#state = state;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#notices.close();
  }

  async #look(): Promise<void> {
    const { id, job } = this.#run;
    const told = await this.#notices.look([{ id, job, state: this.#state }]);
    if (told) this.#state = told.state;
  }
}
