//! A proxy to the API server that can be interrupted.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A port of this machine that forwards to another.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    is_open: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// To `https://host:port`.
    pub(crate) async fn to(server: &str) -> Proxy {
        let target = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_open = Arc::new(watch::Sender::new(true));
        let gate = Arc::clone(&is_open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, target.clone(), gate.subscribe()));
            }
        });
        Proxy { address, is_open }
    }

    /// Closes all connections and forwards no new one. They are not refused: there is no response.
    pub(crate) fn cut(&self) {
        self.is_open.send_replace(false);
    }

    pub(crate) fn restore(&self) {
        self.is_open.send_replace(true);
    }

    pub(crate) fn server(&self) -> String {
        format!("https://{}", self.address)
    }
}

async fn pass(mut client: TcpStream, target: String, mut is_open: watch::Receiver<bool>) {
    if is_open.wait_for(|open| *open).await.is_err() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = is_open.wait_for(|open| !open) => {}
    }
}
