// adc opt --passes=lower-accumulate,tidy
// Weights of a convolution get their terms along rows, which are side by side in memory; a term that is computed once
// for all weights, or loaded from places that are apart, is not.

func.func @weights(%w: memref<?xf64>, %x: memref<?xf64>, %g: memref<?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%r) = (%c0) to (%k) step (%c1) {
    %a = memref.load %g[%r] : memref<?xf64>
    scf.parallel (%j) = (%c0) to (%i) step (%c1) {
      %at = arith.addi %r, %j : index
      %b = memref.load %x[%at] : memref<?xf64>
      %y = arith.mulf %a, %b : f64
      adc.accumulate %y, %w[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

func.func @image(%w: memref<?x?xf64>, %x: memref<?x?xf64>, %g: memref<?x?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%r) = (%c0) to (%k) step (%c1) {
    scf.parallel (%j) = (%c0) to (%k) step (%c1) {
      %a = memref.load %g[%r, %j] : memref<?x?xf64>
      scf.parallel (%p) = (%c0) to (%i) step (%c1) {
        %row = arith.addi %r, %p : index
        scf.parallel (%q) = (%c0) to (%i) step (%c1) {
          %at = arith.addi %j, %q : index
          %b = memref.load %x[%row, %at] : memref<?x?xf64>
          %y = arith.mulf %a, %b : f64
          adc.accumulate %y, %w[%p, %q] : memref<?x?xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

func.func @apart(%w: memref<?xf64>, %x: memref<?x?xf64>, %g: memref<?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%r) = (%c0) to (%k) step (%c1) {
    %a = memref.load %g[%r] : memref<?xf64>
    scf.parallel (%j) = (%c0) to (%i) step (%c1) {
      %b = memref.load %x[%r, %j] : memref<?x?xf64>
      %y = arith.mulf %a, %b : f64
      adc.accumulate %y, %w[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @weights(%w: memref<?xf64>, %x: memref<?xf64>, %g: memref<?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %0 = arith.cmpi sgt, %k, %c0 : index
  scf.if %0 {
    scf.parallel (%j) = (%c0) to (%i) step (%c1) {
      %1 = scf.parallel (%r) = (%c0) to (%k) step (%c1) init (%cst) -> f64 {
        %a = memref.load %g[%r] : memref<?xf64>
        %at = arith.addi %r, %j : index
        %b = memref.load %x[%at] : memref<?xf64>
        %y = arith.mulf %a, %b : f64
        scf.reduce(%y : f64) {kinds = ["add"]}
      }
      %2 = memref.load %w[%j] : memref<?xf64>
      %3 = arith.addf %2, %1 fastmath<contract> : f64
      memref.store %3, %w[%j] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}

func.func @image(%w: memref<?x?xf64>, %x: memref<?x?xf64>, %g: memref<?x?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %0 = arith.cmpi sgt, %k, %c0 : index
  %1 = arith.andi %0, %0 : i1
  scf.if %1 {
    scf.parallel (%p) = (%c0) to (%i) step (%c1) {
      scf.for %r = %c0 to %k step %c1 {
        %row = arith.addi %r, %p : index
        scf.parallel (%q) = (%c0) to (%i) step (%c1) {
          %2 = scf.parallel (%j) = (%c0) to (%k) step (%c1) init (%cst) -> f64 {
            %a = memref.load %g[%r, %j] : memref<?x?xf64>
            %at = arith.addi %j, %q : index
            %b = memref.load %x[%row, %at] : memref<?x?xf64>
            %y = arith.mulf %a, %b : f64
            scf.reduce(%y : f64) {kinds = ["add"]}
          }
          %3 = memref.load %w[%p, %q] : memref<?x?xf64>
          %4 = arith.addf %3, %2 fastmath<contract> : f64
          memref.store %4, %w[%p, %q] : memref<?x?xf64>
          scf.reduce()
        }
        scf.yield
      }
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}

func.func @apart(%w: memref<?xf64>, %x: memref<?x?xf64>, %g: memref<?xf64>, %k: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %0 = arith.cmpi sgt, %k, %c0 : index
  scf.if %0 {
    scf.parallel (%j) = (%c0) to (%i) step (%c1) {
      %1 = scf.for %r = %c0 to %k step %c1 iter_args(%arg0 = %cst) -> (f64) {
        %a = memref.load %g[%r] : memref<?xf64>
        %b = memref.load %x[%r, %j] : memref<?x?xf64>
        %y = arith.mulf %a, %b : f64
        %2 = arith.addf %arg0, %y fastmath<reassoc,contract> : f64
        scf.yield %2 : f64
      }
      %3 = memref.load %w[%j] : memref<?xf64>
      %4 = arith.addf %3, %1 fastmath<contract> : f64
      memref.store %4, %w[%j] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}
