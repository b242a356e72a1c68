const reference = '8a8b391b2e0580a488e1995af34e0eb99948f06a';
const directory = '--directory /etc/signetd/pki';
const organisation = "--country FR --organization 'Example SA'";
const identity = '--tenant billing --ca FR03 --certificate-id ABCD';

/** Command lines that the help of each command shows, by the command's name. */
export const examples: ReadonlyMap<string, readonly string[]> = new Map([
  ['status', ['signetctl status', 'signetctl --json status']],
  ['doctor', ['signetctl doctor']],
  ['reload', ['signetctl reload']],
  ['console', ['signetctl console']],
  ['approvals', ['signetctl approvals']],
  ['approve', ['signetctl approve k7fm3qzd']],
  ['refuse', ['signetctl refuse k7fm3qzd']],
  [
    'setup',
    [
      'signetctl setup',
      'signetctl setup --plan-only',
      'signetctl setup --unattended --token softhsm --organization "Example SA" --country FR',
    ],
  ],
  ['server renew', ['signetctl server renew', 'signetctl server renew --new-key']],
  ['client issue', [`signetctl client issue --name billing --tenant demo --roles signature,keys --directory /root/clients`]],
  [
    'client renew',
    [
      'signetctl client renew billing --directory /root/clients',
      'signetctl client renew billing --csr billing.csr --directory /root/clients',
    ],
  ],
  [
    'client new-authority',
    [`signetctl client new-authority --name client-ca-2 --directory /etc/signetd/tls ${organisation} --common-name 'Example SA TLS CA 2'`],
  ],
  [
    'backup create',
    ['signetctl backup create --output /backup/signetd.age --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
  ],
  ['backup verify', ['signetctl backup verify /backup/signetd.age --identity /media/key/backup.key']],
  [
    'backup restore',
    ['signetctl backup restore /backup/signetd.age --identity /media/key/backup.key --sha256 "$(cat /media/key/signetd.sha256)"'],
  ],
  ['backup compare', ['signetctl backup compare']],
  ['client add', ['signetctl client add --certificate billing.pem --name billing --tenant demo --roles signature,keys']],
  ['client list', ['signetctl client list', 'signetctl client list --revoked']],
  ['client revoke', ['signetctl client revoke billing']],
  ['client reload', ['signetctl client reload']],
  ['key list', ['signetctl key list', 'signetctl --json key list --tenant demo']],
  ['key show', [`signetctl key show ${reference}`]],
  ['key unlock', [`signetctl key unlock ${reference}`]],
  ['key remove', [`signetctl key remove ${reference}`]],
  ['clock confirm', ['date --utc && signetctl clock confirm']],
  ['mac status', ['signetctl mac status']],
  ['mac rotate', ['signetctl mac rotate']],
  ['mac destroy-former', ['signetctl mac destroy-former']],
  ['answers status', ['signetctl answers status']],
  ['answers rotate', ['signetctl answers rotate']],
  ['state compare', ['signetctl state compare']],
  ['state copy', ['signetctl state copy --to /etc/signetd/moved.yaml']],
  ['state confirm', ['signetctl audit verify && signetctl state compare && signetctl state confirm']],
  ['token slots', ['signetctl token slots']],
  ['token mechanisms', ['signetctl token mechanisms', 'signetctl token mechanisms --slot 0']],
  ['token inventory', ['signetctl token inventory']],
  ['token retry-pin', ['signetctl token retry-pin']],
  ['token purpose', ['signetctl token purpose --key-id 5390a7d3c9e1b25f4c8d7e6a1b0f3c2d4e --purpose root']],
  ['token change-pin', ['signetctl token change-pin --new-pin file:/root/new-pin']],
  ['token accept', ['signetctl token accept --config /etc/signetd/hsm.yaml --label hsm --serial 7d4e9a1c']],
  ['token destroy-key', ['signetctl token destroy-key --key-id 5290a7d3c9e1b25f4c8d7e6a1b0f3c2d4e']],
  ['token probe', ['signetctl token probe', 'signetctl token probe --full']],
  ['token init', ['signetctl token init --label signetd --so-pin file:/root/so-pin --pin file:/etc/signetd/pin']],
  ['ca init', [`signetctl ca init ${directory} ${organisation} --public-url http://pki.example.org`]],
  ['ca issue', [`signetctl ca issue --by root --name issuing-2 ${directory} ${organisation} --common-name 'Issuing CA 2'`]],
  ['ca certify', [`signetctl ca certify --authority issuing --by root ${directory} --file issuing-2030.pem`]],
  [
    'ca new-root',
    [
      `signetctl ca new-root --replaces root --name root-2 ${directory} ${organisation} --common-name 'Root CA 2' --public-url http://pki.example.org`,
    ],
  ],
  ['ca retire', [`signetctl ca retire --authority root ${directory} --file root-last.crl`]],
  ['ca request', [`signetctl ca request --name issuing ${directory} ${organisation} --common-name 'Issuing CA'`]],
  [
    'ca import',
    [
      `signetctl ca import --name issuing --key-id 5390a7d3c9e1b25f4c8d7e6a1b0f3c2d4e --certificate issuing.pem --chain root.pem ${directory}`,
    ],
  ],
  ['tsa init', [`signetctl tsa init --by issuing ${directory} ${organisation} --policy 1.3.6.1.4.1.99999.1`]],
  ['tsa certify', [`signetctl tsa certify --by issuing ${directory} --file tsa-2030.pem`]],
  ['twoddoc decode', ['signetctl twoddoc decode code.png --certificate FR00-0001.pem']],
  [
    'twoddoc identity add',
    [`signetctl twoddoc identity add ${identity} --organization 'Exemple SA' --siren 732829320 --directory /etc/signetd/2d-doc`],
  ],
  ['twoddoc identity list', ['signetctl twoddoc identity list --tenant billing']],
  ['twoddoc identity unlock', [`signetctl twoddoc identity unlock ${identity}`]],
  ['twoddoc identity remove', [`signetctl twoddoc identity remove ${identity}`]],
  ['config check', ['signetctl config check', 'signetctl --config new.yaml config check']],
  [
    'audit verify',
    [
      'signetctl audit verify',
      'signetctl audit verify --also /etc/signetd/b.yaml',
      'signetctl audit verify --directory /mnt/archive/audit --public-key audit-key.pem',
      'signetctl audit verify --bundle audit-2026-q1.tar --public-key audit-key.pem',
    ],
  ],
  ['audit prune', ['signetctl audit prune --before 2020-01-01 --confirm']],
  ['audit rotate-key', ['signetctl audit rotate-key']],
  [
    'audit export',
    [
      'signetctl audit export --format csv --since 2026-03-01 --until 2026-04-01 --client billing --output billing.csv',
      'signetctl audit export --format bundle --since 2026-01-01 --until 2026-04-01 --output audit-2026-q1.tar',
    ],
  ],
  [
    'audit find',
    [
      'signetctl audit find abb1cef2-1c9b-456b-9746-7303ecd45f6d',
      'signetctl audit find --client billing --since 2026-03-01 --outcome refused',
    ],
  ],
  ['audit tail', ['signetctl audit tail --lines 50 --follow']],
]);
