//! The built-in functions of OPA that the engine lacks. A policy that calls one of them is valid.

/// Sorted.
const MISSING: [&str; 74] = [
    "crypto.hmac.equal",
    "crypto.hmac.md5",
    "crypto.hmac.sha1",
    "crypto.hmac.sha256",
    "crypto.hmac.sha512",
    "crypto.md5",
    "crypto.parse_private_keys",
    "crypto.sha1",
    "crypto.sha256",
    "crypto.x509.parse_and_verify_certificates",
    "crypto.x509.parse_and_verify_certificates_with_options",
    "crypto.x509.parse_certificate_request",
    "crypto.x509.parse_certificates",
    "crypto.x509.parse_keypair",
    "crypto.x509.parse_rsa_private_key",
    "external_data",
    "graphql.is_valid",
    "graphql.parse",
    "graphql.parse_and_verify",
    "graphql.parse_query",
    "graphql.parse_schema",
    "graphql.schema_is_valid",
    "http.send",
    "io.jwt.decode",
    "io.jwt.decode_verify",
    "io.jwt.encode_sign",
    "io.jwt.encode_sign_raw",
    "io.jwt.verify_eddsa",
    "io.jwt.verify_es256",
    "io.jwt.verify_es384",
    "io.jwt.verify_es512",
    "io.jwt.verify_hs256",
    "io.jwt.verify_hs384",
    "io.jwt.verify_hs512",
    "io.jwt.verify_ps256",
    "io.jwt.verify_ps384",
    "io.jwt.verify_ps512",
    "io.jwt.verify_rs256",
    "io.jwt.verify_rs384",
    "io.jwt.verify_rs512",
    "json.match_schema",
    "json.patch",
    "json.verify_schema",
    "net.cidr_contains_matches",
    "net.cidr_intersects",
    "net.cidr_merge",
    "net.cidr_overlap",
    "net.lookup_ip_addr",
    "opa.runtime",
    "providers.aws.sign_req",
    "regex.globs_match",
    "rego.metadata.chain",
    "rego.metadata.rule",
    "rego.parse_module",
    "strings.render_template",
    "time.add_date",
    "time.clock",
    "time.date",
    "time.diff",
    "time.format",
    "time.now_ns",
    "time.parse_duration_ns",
    "time.parse_ns",
    "time.parse_rfc3339_ns",
    "time.weekday",
    "urlquery.decode",
    "urlquery.decode_object",
    "urlquery.encode",
    "urlquery.encode_object",
    "uuid.parse",
    "uuid.rfc4122",
    "yaml.is_valid",
    "yaml.marshal",
    "yaml.unmarshal",
];

pub(super) fn has_function(name: &str) -> bool {
    MISSING.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::MISSING;
    use crate::catalog::gatekeeper::builtins;

    #[test]
    fn the_engine_lacks_all_of_them() {
        assert!(MISSING.is_sorted());
        for name in MISSING {
            assert!(!builtins::is_known(name), "{name}");
        }
    }
}
