import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Reporter } from '../../../../src/runner/runs/reporter.ts';
import type { SessionLink } from '../../../../src/runner/slots/session-link.ts';
import { CHANGE_ARTIFACT, type Published, type PublishRequest } from '../../../../src/shared/agent/result.ts';
import { FakeServer } from '../../../support/fake-network.ts';
import { Cleanup } from '../../../support/temp.ts';

const REQUEST: PublishRequest = { commit: 'a'.repeat(40), parent: 'b'.repeat(40), title: 't', body: '' };
const PUSHED: Published = { state: 'pushed', commit: 'c', branch: 'b', pull: null, rebased: false };

let cleanup: Cleanup;
let server: FakeServer;
let link: SessionLink;
let told: string[];
let stop: AbortController;
let report: Reporter;

beforeEach(() => {
  cleanup = new Cleanup();
  server = new FakeServer();
  link = server.link();
  cleanup.defer(() => link.close());
  told = [];
  stop = new AbortController();
  report = new Reporter(link, { run: 7, attempt: 1 }, null, {
    cancel: (why) => told.push(`cancel: ${why}`),
    stale: (why) => told.push(`stale: ${why}`),
    unrecorded: () => {},
  });
});
afterEach(() => cleanup.run());

function handIn(name = CHANGE_ARTIFACT): void {
  const file = path.join(cleanup.tempDir(), 'change');
  const content = 'the bundle';
  writeFileSync(file, content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  report.artifact({ name, path: file, bytes: content.length, sha256 });
}

function failed(why: string): Published {
  return { state: 'failed', why };
}

it('asks when the change has arrived, and again until it is told what became of it', async () => {
  handIn();
  server.published = [{ state: 'pending' }, PUSHED];
  let arrived: boolean | null = null;
  server.onPublish = () => {
    arrived ??= server.artifacts.get(CHANGE_ARTIFACT)?.complete ?? false;
    return null;
  };
  expect(await report.publish(REQUEST, stop.signal)).toEqual(PUSHED);
  expect(arrived).toBe(true);
  expect(server.asked).toEqual([REQUEST, REQUEST]);
});

it('asks on the next connection where one breaks', async () => {
  handIn();
  server.published = [PUSHED];
  let broken = 0;
  server.onPublish = () => (broken++ < 2 ? server.hangUp() : null);
  expect(await report.publish(REQUEST, stop.signal)).toEqual(PUSHED);
  expect(server.connects).toBe(3);
});

it('does not wait for a change that was not handed in, or was refused', async () => {
  expect(await report.publish(REQUEST, stop.signal)).toEqual(
    failed(`there is no artifact ${CHANGE_ARTIFACT}`),
  );
  handIn();
  // as where its digest is wrong
  server.onArtifact = ({ last }) => (last ? { type: 'ok', offset: 0 } : null);
  expect(await report.publish(REQUEST, stop.signal)).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(/^the change could not be handed in: artifact .* refused it 3 times$/),
  });
  expect(server.asked).toEqual([]);
});

it('waits no more once the run is to end, whatever it waits for', async () => {
  const stopped = failed('the run was stopped while its change was being pushed');
  handIn();
  server.onPublish = () => {
    setImmediate(() => stop.abort());
    return null;
  };
  expect(await report.publish(REQUEST, stop.signal)).toEqual(stopped);
  expect(await report.publish(REQUEST, stop.signal)).toEqual(stopped);
  expect(server.asked).toHaveLength(1);
});

it('passes on that somebody wants the run to end, or that it is not ours', async () => {
  handIn();
  server.onPublish = () => ({ type: 'ok', cancel: 'enough', published: failed('stopped') }) as const;
  expect(await report.publish(REQUEST, stop.signal)).toEqual(failed('stopped'));
  server.onPublish = () => ({ type: 'stale', why: 'another has it' });
  expect(await report.publish(REQUEST, stop.signal)).toEqual(
    failed("the run is not this runner's any more: another has it"),
  );
  expect(told).toEqual(['cancel: enough', 'stale: another has it']);
});

it('does not ask a server that would not understand it', async () => {
  handIn();
  server.protocol = 2;
  expect(await report.publish(REQUEST, stop.signal)).toEqual(
    failed('the server is too old to push a change: update it'),
  );
  expect(server.asked).toEqual([]);
});
