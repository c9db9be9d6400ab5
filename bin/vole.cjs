#!/usr/bin/env node
// Sizes libuv's thread pool from --jobs. CommonJS on purpose: the ESM loader reads files through
// that pool, so by the time the first ESM module runs it already has its threads and the setting
// is ignored. Every worker thread of a runner shares it.
'use strict';

function jobsAsked(argv, env) {
  for (let i = 0; i < argv.length; i++) {
    const inline = /^--jobs=(.*)$/.exec(argv[i]);
    if (inline) return inline[1];
    if (argv[i] === '--jobs') return argv[i + 1];
  }
  return env.VOLE_JOBS;
}

const jobs = Number(jobsAsked(process.argv, process.env)) || 2;
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(128, Math.max(4, jobs + 4)));

void import('../dist/main.js');
