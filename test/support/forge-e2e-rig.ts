import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Rig } from './e2e-rig.ts';
import { deliver } from './forge/deliver.ts';
import { BOT_TOKEN, FakeForge } from './forge/forge.ts';
import type { PushedRepository } from './forge/pushed-repository.ts';
import type { Project } from './forge/state.ts';
import { commentPayload, pushPayload } from './payloads.ts';
import { type CommandResult, voleCommand } from './vole-command.ts';

export const WORKFLOW = `on: [push]
jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "test -e file"}]}
commands:
  plan: {steps: [{run: "echo planned"}]}
  implement: {steps: [{run: "sleep 600"}]}
`;

export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

/** The built server with a repository that lives on the stand-in, which sends it webhooks. */
export class ForgeE2eRig {
  readonly vole: Rig;
  readonly forge: FakeForge;
  readonly project: Project;
  readonly git: PushedRepository;
  readonly tokenFile: string;
  webhook: Webhook = { url: '', secret: '' };

  private constructor(vole: Rig, forge: FakeForge) {
    this.vole = vole;
    this.forge = forge;
    this.project = forge.project('team/app');
    this.git = forge.git(this.project);
    this.tokenFile = path.join(vole.root, 'bot-token');
    writeFileSync(this.tokenFile, `${BOT_TOKEN}\n`, { mode: 0o600 });
  }

  static async start(serverArgs: readonly string[] = []): Promise<ForgeE2eRig> {
    const vole = await Rig.start(serverArgs);
    return new ForgeE2eRig(vole, await FakeForge.start(vole.cleanup));
  }

  /** A command line on this server's data directory. */
  cli(args: readonly string[]): Promise<CommandResult> {
    return voleCommand([...args, '--data', this.vole.dataDir]);
  }

  forgeFlags(): string[] {
    return ['--forge', 'gitea', '--forge-url', this.forge.url, '--forge-token-file', this.tokenFile];
  }

  /** By `vole repo add`; keeps the webhook that it prints. */
  async register(): Promise<void> {
    const args = [
      'repo',
      'add',
      'team/app',
      this.forge.cloneUrl(this.project),
      ...this.forgeFlags(),
      '--json',
    ];
    const { code, stdout, stderr } = await this.cli(args);
    if (code !== 0) throw new Error(stderr);
    this.webhook = (JSON.parse(stdout) as { webhook: Webhook }).webhook;
  }

  /** Pushes a commit and sends its webhook; gives the commit. */
  async push(files: Readonly<Record<string, string>>): Promise<string> {
    const sha = this.git.push(files);
    const status = await this.deliver('push', pushPayload({ after: sha }));
    if (status !== 202) throw new Error(`the push was answered ${status}`);
    return sha;
  }

  /** Somebody comments; its id. */
  async comment(issue: number, author: string, body: string, pull = false): Promise<number> {
    const { id } = this.forge.comment(this.project, issue, author, body);
    const status = await this.deliver(
      'issue_comment',
      commentPayload({ comment: id, body, author, issue, pull }),
    );
    if (status !== 202) throw new Error(`the comment was answered ${status}`);
    return id;
  }

  deliver(event: string, payload: unknown, id?: string): Promise<number> {
    const { url, secret } = this.webhook;
    return deliver(url, { event, payload, secret, ...(id === undefined ? {} : { id }) });
  }

  /** `context state` of each, as pages show them. */
  shown(sha: string): string[] {
    return this.project
      .shown(sha)
      .map(({ context, state }) => `${context} ${state}`)
      .sort();
  }

  close(): Promise<void> {
    return this.vole.close();
  }
}
