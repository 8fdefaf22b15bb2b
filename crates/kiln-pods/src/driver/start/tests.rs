//! What a kubeconfig says of the runner's own namespace.

use super::*;

async fn namespace(context: &str) -> Option<String> {
    let text = format!(
        "{{current-context: a, contexts: [{{name: a, context: {context}}}], \
         clusters: [{{name: b, cluster: {{server: 'https://localhost:1'}}}}], users: [{{name: c, user: {{}}}}]}}"
    );
    let file = Kubeconfig::from_yaml(&text).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    namespace_of_file(&config.unwrap())
}

#[tokio::test]
async fn a_file_may_name_the_own_namespace() {
    let named = namespace("{cluster: b, user: c, namespace: here}").await;
    assert_eq!(named.as_deref(), Some("here"));
    assert_eq!(namespace("{cluster: b, user: c}").await, None);
}
