//! What only the name of a variable gives away. These come last, so that a rule that knows the format names the secret.

use crate::redact::generic;
use crate::redact::rule::{Case, Rule, code};

pub(super) const RULES: &[Rule] = &[
    code(
        "password",
        &[
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "pwd=",
            "pwd:",
            "pwd\"",
            "pwd'",
            "pwd\\",
            "pwd ",
        ],
        generic::password,
        Case::Ignored,
        "DB_PASSWORD=«{p16}»",
        "password = getPassword()",
    ),
    code(
        "api-key",
        &[
            "api_key", "apikey", "api-key", "api.key", "app_key", "appkey",
        ],
        generic::api_key,
        Case::Ignored,
        "\"apiKey\": \"«{w32}»\"",
        "api_key: Optional[str] = None",
    ),
    code(
        "secret",
        &["secret"],
        generic::secret,
        Case::Ignored,
        "client_secret = \"«{w32}»\"",
        "secret: string",
    ),
    code(
        "token",
        // Not the word alone: a transcript counts tokens in every record.
        &[
            "token=", "token:", "token\"", "token'", "token\\", "token`", "token]", "token ",
        ],
        generic::token,
        Case::Ignored,
        "export DEPLOY_TOKEN=«{w32}»",
        "const token = await getToken()",
    ),
    code(
        "credential",
        &[
            "access_key",
            "accesskey",
            "access-key",
            "private_key",
            "privatekey",
            "private-key",
            "encryption_key",
            "encryptionkey",
            "signing_key",
            "signingkey",
            "master_key",
            "masterkey",
            "account_key",
            "auth_key",
            "authkey",
            "service_key",
            "role_key",
            "rolekey",
            "shared_key",
            "credential",
            "connection_string",
            "connectionstring",
        ],
        generic::credential,
        Case::Ignored,
        "encryption_key: \"«{w32}»\"",
        "credentials: \"include\"",
    ),
];
