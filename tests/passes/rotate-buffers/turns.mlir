// adc opt --passes=rotate-buffers
// The buffer that is copied over the state becomes the next state, and what is copied from that before is handed on.

func.func @f(%c: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %c, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %old = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%zero : f64) outs(%old : memref<?xf64>)
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %c, %u : memref<?xf64> to memref<?xf64>
  %new = memref.alloc(%n) : memref<?xf64>
  memref.copy %c, %new : memref<?xf64> to memref<?xf64>
  scf.for %t = %c0 to %steps step %c1 {
    scf.for %i = %c1 to %m step %c1 {
      %a = memref.load %u[%i] : memref<?xf64>
      %b = memref.load %old[%i] : memref<?xf64>
      %d = arith.mulf %a, %b : f64
      memref.store %d, %new[%i] : memref<?xf64>
      scf.yield
    }
    memref.copy %u, %old : memref<?xf64> to memref<?xf64>
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %e = memref.load %new[%j] : memref<?xf64>
      memref.store %e, %u[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  %r = memref.load %u[%c1] : memref<?xf64>
  %s = memref.load %old[%c1] : memref<?xf64>
  %total = arith.addf %r, %s : f64
  func.return %total : f64
}

// becomes
func.func @f(%c: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %c, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %old = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%zero : f64) outs(%old : memref<?xf64>)
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %c, %u : memref<?xf64> to memref<?xf64>
  %new = memref.alloc(%n) : memref<?xf64>
  memref.copy %c, %new : memref<?xf64> to memref<?xf64>
  %u_0, %old_0 = scf.for %t = %c0 to %steps step %c1 iter_args(%u_1 = %u, %old_1 = %old) -> (memref<?xf64>, memref<?xf64>) {
    %0 = memref.dim %u_1, 0 : memref<?xf64>
    %1 = memref.alloc(%0) : memref<?xf64>
    memref.copy %u_1, %1 : memref<?xf64> to memref<?xf64>
    scf.for %i = %c1 to %m step %c1 {
      %a = memref.load %u_1[%i] : memref<?xf64>
      %b = memref.load %old_1[%i] : memref<?xf64>
      %d = arith.mulf %a, %b : f64
      memref.store %d, %1[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield %1, %u_1 : memref<?xf64>, memref<?xf64>
  }
  %r = memref.load %u_0[%c1] : memref<?xf64>
  %s = memref.load %old_0[%c1] : memref<?xf64>
  %total = arith.addf %r, %s : f64
  func.return %total : f64
}
