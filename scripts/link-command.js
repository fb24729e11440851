// Part of `npm run build`: puts the command where `npx onelane` of a checkout looks first. Without it, npx takes the
// checkout for a package to be installed, and builds it anew at each call, under the feet of whatever runs from dist/.
import { chmod, mkdir, rm, symlink } from 'node:fs/promises';

const command = new URL('../dist/cli/main.js', import.meta.url);
const bin = new URL('../node_modules/.bin/', import.meta.url);
await chmod(command, 0o755);
await mkdir(bin, { recursive: true });
const link = new URL('onelane', bin);
await rm(link, { force: true });
await symlink('../../dist/cli/main.js', link);
