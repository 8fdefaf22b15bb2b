;; A function that returns its input after a loop of ten million iterations. long_loop.wasm is this text in the binary format.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (local i32)
    (loop
      (local.set 0 (i32.add (local.get 0) (i32.const 1)))
      (br_if 0 (i32.lt_u (local.get 0) (i32.const 10_000_000))))
    ;; One buffer of 64 KiB. Reading replaces its length with the number of bytes.
    (i32.store (i32.const 0) (i32.const 65536))
    (i32.store (i32.const 4) (i32.const 65536))
    (drop (call 0 (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))
    (drop (call 1 (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
