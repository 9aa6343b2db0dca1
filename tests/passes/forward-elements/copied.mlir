// adc opt --passes=forward-elements,simplify
// An array with margins, read three times by one loop: it reads what was copied, although both buffers have been the
// source in other steps. The second one is read at subscripts whose bounds no cut of a loop would remove, and is kept.

func.func @f(%x: memref<?xf64> {adc.readonly = true}, %nt: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %wide = arith.addi %n, %c2 : index
  %last = arith.subi %n, %c1 : index
  %u = scf.for %t = %c0 to %nt step %c1 iter_args(%u = %x) -> (memref<?xf64>) {
    %p = memref.alloc(%wide) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%wide) step (%c1) {
      %at = arith.subi %i, %c1 : index
      %low = arith.maxsi %at, %c0 : index
      %source = arith.minsi %low, %last : index
      %a = memref.load %u[%source] : memref<?xf64>
      memref.store %a, %p[%i] : memref<?xf64>
      scf.reduce()
    }
    %new = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %next = arith.addi %i, %c1 : index
      %after = arith.addi %i, %c2 : index
      %a = memref.load %p[%i] : memref<?xf64>
      %b = memref.load %p[%next] : memref<?xf64>
      %c = memref.load %p[%after] : memref<?xf64>
      %s = arith.addf %a, %c : f64
      %r = arith.mulf %s, %b : f64
      memref.store %r, %new[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %new : memref<?xf64>
  }
  %q = memref.alloc(%wide) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%wide) step (%c1) {
    %at = arith.subi %i, %c1 : index
    %low = arith.maxsi %at, %c0 : index
    %source = arith.minsi %low, %last : index
    %a = memref.load %u[%source] : memref<?xf64>
    memref.store %a, %q[%i] : memref<?xf64>
    scf.reduce()
  }
  %zero = arith.constant 0.0 : f64
  %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %v = scf.parallel (%k) = (%c0) to (%c2) step (%c1) init (%zero) -> f64 {
      %at = arith.addi %i, %k : index
      %a = memref.load %q[%at] : memref<?xf64>
      scf.reduce(%a : f64) {kinds = ["add"]}
    }
    scf.reduce(%v : f64) {kinds = ["add"]}
  }
  func.return %sum : f64
}

// becomes
func.func @f(%x: memref<?xf64> {adc.readonly = true}, %nt: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c-1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %wide = arith.addi %n, %c2 : index
  %last = arith.addi %n, %c-1 : index
  %u = scf.for %t = %c0 to %nt step %c1 iter_args(%u_0 = %x) -> (memref<?xf64>) {
    %new = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %next = arith.addi %i, %c1 : index
      %at = arith.addi %i, %c-1 : index
      %low = arith.maxsi %at, %c0 : index
      %source = arith.minsi %low, %last : index
      %a = memref.load %u_0[%source] : memref<?xf64>
      %a_0 = memref.load %u_0[%i] : memref<?xf64>
      %source_0 = arith.minsi %next, %last : index
      %a_1 = memref.load %u_0[%source_0] : memref<?xf64>
      %s = arith.addf %a, %a_1 : f64
      %r = arith.mulf %s, %a_0 : f64
      memref.store %r, %new[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %new : memref<?xf64>
  }
  %q = memref.alloc(%wide) : memref<?xf64>
  scf.parallel (%i_0) = (%c0) to (%wide) step (%c1) {
    %at_0 = arith.addi %i_0, %c-1 : index
    %low_0 = arith.maxsi %at_0, %c0 : index
    %source_1 = arith.minsi %low_0, %last : index
    %a_2 = memref.load %u[%source_1] : memref<?xf64>
    memref.store %a_2, %q[%i_0] : memref<?xf64>
    scf.reduce()
  }
  %sum = scf.parallel (%i_1) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %v = scf.parallel (%k) = (%c0) to (%c2) step (%c1) init (%zero) -> f64 {
      %at_1 = arith.addi %i_1, %k : index
      %a_3 = memref.load %q[%at_1] : memref<?xf64>
      scf.reduce(%a_3 : f64) {kinds = ["add"]}
    }
    scf.reduce(%v : f64) {kinds = ["add"]}
  }
  func.return %sum : f64
}
