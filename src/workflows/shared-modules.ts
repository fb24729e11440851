// What the workflows of a process share instead of loading it anew for each, which costs more than all the rest of
// starting an item: zod, and every module of domain. Those are values in, values out, so nothing that one workflow
// does is left in them for another.

declare global {
  interface ImportMeta {
    /** webpack's: the modules of a folder, by their paths */
    webpackContext(
      folder: string,
      options: { recursive: boolean; regExp: RegExp },
    ): {
      keys(): string[];
      (path: string): object;
    };
  }
}

const domain = import.meta.webpackContext('../domain', { recursive: false, regExp: /(?<!\.d)\.[jt]s$/ });

// The SDK freezes what is shared, through and through, but goes no deeper than what is frozen already. A schema must
// stay as it is: it makes its parser when it is first used.
for (const path of domain.keys()) Object.freeze(domain(path));
