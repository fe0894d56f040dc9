//! The static binary in an empty root file system: names, certificates and the user.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use berth_image::{EmptyRoot, StaticBinary};

/// The certificate of `localhost`, its key, and a server that has them.
struct HttpsServer {
    folder: tempfile::TempDir,
    process: Child,
    port: u16,
}

impl HttpsServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
            .args(["-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let port = free_port();
        let mut server = Command::new("openssl");
        server.args([
            "s_server",
            "-cert",
            "cert.pem",
            "-key",
            "key.pem",
            "-www",
            "-quiet",
            "-accept",
            &port.to_string(),
        ]);
        server.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = server.spawn().unwrap();
        while TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err() {
            thread::yield_now();
        }
        Self { folder, process, port }
    }

    fn certificate(&self) -> std::path::PathBuf {
        self.folder.path().join("cert.pem")
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that answers one request with 418.
fn http_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 418 I'm a teapot\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    });
    port
}

/// Why `berth e2e-commitments` fails, whose first step is a GET of this URL.
fn why_get_fails(url: &str, files: &[&Path], roots: Option<&Path>) -> String {
    let (binary, root) = (StaticBinary::obtain().unwrap(), EmptyRoot::new().unwrap());
    let keys = format!(r#"{{"baseURL":"{url}","azs":["a"]}}"#);
    let arguments = ["e2e-commitments", "--log-format=human", &keys];
    let files: Vec<_> = files.iter().copied().chain(roots).collect();
    let mut command = root.command(&binary.path, &files, &arguments);
    let output = command.envs(roots.map(|roots| ("SSL_CERT_FILE", roots))).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn plain_http_needs_no_certificates() {
    let text = why_get_fails(&format!("http://127.0.0.1:{}/", http_server()), &[], None);
    assert!(text.contains("418"), "{text}");
}

#[test]
fn https_needs_root_certificates_and_the_error_says_how_to_name_them() {
    let server = HttpsServer::start();
    let url = format!("https://127.0.0.1:{}/", server.port);
    let text = why_get_fails(&url, &[], None);
    assert!(text.contains("invalid peer certificate: UnknownIssuer; set SSL_CERT_FILE to a file"), "{text}");
    let text = why_get_fails(&url, &[], Some(&server.certificate()));
    assert!(text.contains("the answer cannot be used"), "a page of openssl is no answer of LIQUID: {text}");
}

#[test]
fn a_name_is_looked_up_in_the_files_that_a_container_gets() {
    let server = HttpsServer::start();
    let url = format!("https://localhost:{}/", server.port);
    let text = why_get_fails(&url, &[Path::new("/etc/hosts")], Some(&server.certificate()));
    assert!(text.contains("the answer cannot be used"), "{text}");
}

#[test]
fn nothing_else_is_there_and_nothing_can_be_written() {
    let (binary, root) = (StaticBinary::obtain().unwrap(), EmptyRoot::new().unwrap());
    let run = |arguments: &[&str]| {
        let output = root.command(&binary.path, &[], arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    assert_eq!(run(&["--version"]), (true, format!("berth {}\n", env!("CARGO_PKG_VERSION"))));
    let (succeeds, text) = run(&["config", "check", "/etc/passwd"]);
    assert!(!succeeds && text.contains("/etc/passwd"), "{text}");
    let (succeeds, text) = run(&["crds", "--directory=/crds"]);
    assert!(!succeeds && text.contains("Read-only file system"), "{text}");
}
