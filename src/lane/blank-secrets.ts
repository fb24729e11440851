/** Shorter values stand in ordinary text by chance, and blanking them would only spoil the evidence. */
const SHORTEST_SECRET = 4;

/**
 * Takes a lane's secrets out of a text that will be stored: an upstream may echo the headers that it got.
 * Looks for each as it is, as JSON writes it (PHP's with its slashes escaped) and as URLs write it, in either case.
 */
export function blankSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => {
      const json = JSON.stringify(secret).slice(1, -1);
      const url = encodeURIComponent(secret);
      const lowerUrl = url.replace(/%../g, (octet) => octet.toLowerCase());
      return [secret, json, json.replaceAll('/', '\\/'), url, lowerUrl];
    });
  // Longest first, so that no secret is torn apart by another that it contains.
  return [...new Set(forms)]
    .sort((a, b) => b.length - a.length)
    .reduce((blanked, form) => blanked.replaceAll(form, '[secret]'), text);
}
