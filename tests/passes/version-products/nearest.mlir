// adc opt --passes=version-products,canonicalize
// A test of the number of coordinates chooses between two versions of a product and the loop that finds its least
// elements, with the array that only the product reads.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
  %top = arith.constant 0x7FF0000000000000 : f64
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %d = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %y, 0 : memref<?x?xf64>
  %twice = memref.alloc(%n, %d) : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%d) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = arith.mulf %a, %two : f64
      memref.store %b, %twice[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  %products = memref.alloc(%n, %k) : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%c) = (%c0) to (%k) step (%c1) {
      %s = scf.parallel (%j) = (%c0) to (%d) step (%c1) init (%zero) -> f64 {
        %a = memref.load %twice[%i, %j] : memref<?x?xf64>
        %b = memref.load %y[%c, %j] : memref<?x?xf64>
        %p = arith.mulf %a, %b fastmath<contract> : f64
        scf.reduce(%p : f64) {kinds = ["add"]}
      }
      memref.store %s, %products[%i, %c] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  %total = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %least = scf.parallel (%c) = (%c0) to (%k) step (%c1) init (%top) -> f64 {
      %p = memref.load %products[%i, %c] : memref<?x?xf64>
      %q = arith.negf %p : f64
      scf.reduce(%q : f64) {kinds = ["min"]}
    }
    scf.reduce(%least : f64) {kinds = ["add"]}
  }
  func.return %total : f64
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
  %top = arith.constant 0x7FF0000000000000 : f64
  %c24 = arith.constant 24 : index
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %d = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %y, 0 : memref<?x?xf64>
  %0 = arith.cmpi sle, %d, %c24 : index
  %total = scf.if %0 -> (f64) {
    %twice = memref.alloc(%n, %d) : memref<?x?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j) = (%c0) to (%d) step (%c1) {
        %a = memref.load %x[%i, %j] : memref<?x?xf64>
        %b = arith.mulf %a, %two : f64
        memref.store %b, %twice[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    %products = memref.alloc(%n, %k) : memref<?x?xf64>
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      scf.parallel (%c) = (%c0) to (%k) step (%c1) {
        %s = scf.parallel (%j_0) = (%c0) to (%d) step (%c1) init (%zero) -> f64 {
          %a_0 = memref.load %twice[%i_0, %j_0] : memref<?x?xf64>
          %b_0 = memref.load %y[%c, %j_0] : memref<?x?xf64>
          %p = arith.mulf %a_0, %b_0 fastmath<contract> : f64
          scf.reduce(%p : f64) {kinds = ["add"]}
        }
        memref.store %s, %products[%i_0, %c] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    %total_0 = scf.parallel (%i_1) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %least = scf.parallel (%c_0) = (%c0) to (%k) step (%c1) init (%top) -> f64 {
        %p_0 = memref.load %products[%i_1, %c_0] : memref<?x?xf64>
        %q = arith.negf %p_0 : f64
        scf.reduce(%q : f64) {kinds = ["min"]}
      }
      scf.reduce(%least : f64) {kinds = ["add"]}
    }
    scf.yield %total_0 : f64
  } else {
    %twice_0 = memref.alloc(%n, %d) : memref<?x?xf64>
    scf.parallel (%i_2) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j_1) = (%c0) to (%d) step (%c1) {
        %a_1 = memref.load %x[%i_2, %j_1] : memref<?x?xf64>
        %b_1 = arith.mulf %a_1, %two : f64
        memref.store %b_1, %twice_0[%i_2, %j_1] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    %products_0 = memref.alloc(%n, %k) : memref<?x?xf64>
    scf.parallel (%i_3) = (%c0) to (%n) step (%c1) {
      scf.parallel (%c_1) = (%c0) to (%k) step (%c1) {
        %s_0 = scf.parallel (%j_2) = (%c0) to (%d) step (%c1) init (%zero) -> f64 {
          %a_2 = memref.load %twice_0[%i_3, %j_2] : memref<?x?xf64>
          %b_2 = memref.load %y[%c_1, %j_2] : memref<?x?xf64>
          %p_1 = arith.mulf %a_2, %b_2 fastmath<contract> : f64
          scf.reduce(%p_1 : f64) {kinds = ["add"]}
        }
        memref.store %s_0, %products_0[%i_3, %c_1] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    %total_1 = scf.parallel (%i_4) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %least_0 = scf.parallel (%c_2) = (%c0) to (%k) step (%c1) init (%top) -> f64 {
        %p_2 = memref.load %products_0[%i_4, %c_2] : memref<?x?xf64>
        %q_0 = arith.negf %p_2 : f64
        scf.reduce(%q_0 : f64) {kinds = ["min"]}
      }
      scf.reduce(%least_0 : f64) {kinds = ["add"]}
    }
    scf.yield %total_1 : f64
  }
  func.return %total : f64
}
