import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openApiText } from '../test/support/api.ts';

// npm run openapi: docs/openapi.json as the routes have it now. A test compares the two.

const file = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
await writeFile(file, await openApiText());
console.log(`wrote ${file}`);
