/**
 * Units of the package that have a template for further instances on the same machine. All instances
 * use the token host of signetd-token.service.
 */
export const instanceUnits = ['signetd.service', 'signetd-api.socket', 'signetd-operations.socket', 'signetd-public.socket'] as const;
export type InstanceUnit = (typeof instanceUnits)[number];

/** Returns the name of the template of a unit, such as `signetd-api@.socket`. */
export function templateName(unit: InstanceUnit): string {
  return unit.replace('.', '@.');
}

/** What differs between a unit and its template; each must occur in one of the units at least. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/^(Description=.*)$/m, '$1 (instance %i)'],
  [/\/etc\/signetd\/signetd\.yaml/g, '/etc/signetd/%i.yaml'],
  [/\bsignetd-(api|operations|public)\.socket/g, 'signetd-$1@%i.socket'],
  [/^Service=signetd\.service$/m, 'Service=signetd@%i.service'],
  [/^(WantedBy=.*)\bsignetd\.service/m, '$1signetd@%i.service'],
  [/^(SyslogIdentifier|StateDirectory|LogsDirectory|RuntimeDirectory)=signetd$/gm, '$1=signetd-%i'],
  // Two instances cannot have the same address: each instance sets its own in a drop-in.
  [
    /^# The address of (listeners\.\w+).*\n(?:#.*\n)*ListenStream=.*$/m,
    '# The address of $1: a drop-in of the instance sets ListenStream=.',
  ],
];

/** Returns the text of the template of a unit. */
export function instanceTemplate(text: string): string {
  return replacements.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text);
}
