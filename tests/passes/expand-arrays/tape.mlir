// adc opt --passes=expand-arrays,canonicalize,dce
// A row of each iteration, which a second loop reads through a tape of rows: all are in one array.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %tape = memref.alloc(%n) {adc.tape = true} : memref<?xmemref<?xf64>>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %row = memref.alloc(%k) : memref<?xf64>
    linalg.fill ins(%zero : f64) outs(%row : memref<?xf64>)
    memref.store %row, %tape[%i] : memref<?xmemref<?xf64>>
    %u = memref.load %x[%i] : memref<?xf64>
    scf.parallel (%j) = (%c0) to (%k) step (%c1) {
      %v = memref.load %row[%j] : memref<?xf64>
      %w = arith.addf %u, %v : f64
      memref.store %w, %row[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %again = memref.load %tape[%i] : memref<?xmemref<?xf64>>
    %sum = scf.parallel (%j) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
      %v = memref.load %again[%j] : memref<?xf64>
      scf.reduce(%v : f64) {kinds = ["add"]}
    }
    memref.store %sum, %y[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %tape = memref.alloc(%n, %k) {adc.tape = true} : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%arg0) = (%c0) to (%k) step (%c1) {
      memref.store %zero, %tape[%i, %arg0] : memref<?x?xf64>
      scf.reduce()
    }
    %u = memref.load %x[%i] : memref<?xf64>
    scf.parallel (%j) = (%c0) to (%k) step (%c1) {
      %v = memref.load %tape[%i, %j] : memref<?x?xf64>
      %w = arith.addf %u, %v : f64
      memref.store %w, %tape[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
    %sum = scf.parallel (%j_0) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
      %v_0 = memref.load %tape[%i_0, %j_0] : memref<?x?xf64>
      scf.reduce(%v_0 : f64) {kinds = ["add"]}
    }
    memref.store %sum, %y[%i_0] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
